"""One tensor through every room. Run with WGTORCH_DEBUG=3 to hear the rooms speak (4: WGSL)."""

import wgtorch as torch

device = "webgpu" if torch.is_webgpu_available() else "cpu"
torch.manual_seed(0)
x = torch.randn(4, 8, requires_grad=True)
w = torch.ones(8, 3, device=device, requires_grad=True)

if device == "webgpu":
    print("nothing is computed before it is needed; this is the kernel that would be:")
    print((w * 2 + 1).relu().explain())
else:
    print("no WebGPU adapter: this is the cpu, which computes at once")

with torch.autograd.graph.save_on_cpu():  # what backward needs waits in host memory
    loss = (x.to(device) @ w).relu().sum()

print("loss", loss.item())
loss.backward()  # the gradient travels back to where x lives
print("x.grad", tuple(x.grad.shape), x.grad.device)
print("w.grad", w.grad)
