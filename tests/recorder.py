"""Hooks that write down what they were asked, for the tests of saved tensors."""

import weakref

import numpy as np

import wgtorch as torch

graph = torch.autograd.graph


def T(data, device, grad=False, dtype=None):
    t = torch.tensor(data, dtype=dtype or torch.float32, device=device)
    return t.requires_grad_(True) if grad else t


def leaf(data, device="cpu"):
    return T(data, device, grad=True)


def ramp(shape, device, grad=False, lo=-1.0, hi=1.5):
    n = int(np.prod(shape)) if shape else 1
    arr = np.linspace(lo, hi, n, dtype=np.float32).reshape(shape)
    return T(arr.tolist(), device, grad)


def N(t):
    return t.detach().cpu().numpy()


def close(got, want, rtol=1e-5, atol=1e-6):
    want = N(want) if hasattr(want, "detach") else np.asarray(want)
    np.testing.assert_allclose(N(got), want, rtol=rtol, atol=atol)


class Box:
    """Opaque, weak-referenceable packed value holding its own copy."""

    def __init__(self, t):
        self.t = t


class Recorder:
    """Copying hooks that log every call and track live packed objects."""

    def __init__(self):
        self.live = weakref.WeakSet()
        self.packed = []  # (index, shape, dtype)
        self.unpacked = []  # index
        self.live_at_unpack = []

    def pack(self, t):
        box = Box(t.detach().clone())
        box.index = len(self.packed)
        self.packed.append((box.index, tuple(t.shape), t.dtype))
        self.live.add(box)
        return box

    def unpack(self, box):
        self.unpacked.append(box.index)
        self.live_at_unpack.append(len(self.live))
        return box.t

    def hooks(self):
        return graph.saved_tensors_hooks(self.pack, self.unpack)


def detach(t):
    return t.detach()


def same(x):
    return x
