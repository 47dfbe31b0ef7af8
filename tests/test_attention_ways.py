"""Ways to compute attention: what each leaves in memory, and which is taken."""

import pytest

import wgtorch as torch
from wgtorch.nn import scores
from wgtorch.nn.attention import SDPBackend, sdpa_kernel

attend = torch.nn.functional.scaled_dot_product_attention


@pytest.mark.parametrize("is_causal", [False, True])
def test_blocks_leave_no_scores_in_memory(webgpu, is_causal):
    query, key, value = [torch.randn(2, 300, 8, device=webgpu).requires_grad_() for _ in "qkv"]
    left, found = {}, {}
    for way in (SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION):
        with sdpa_kernel(way):
            before = torch.memory_stats()["allocated_bytes.all.current"]
            out = attend(query, key, value, is_causal=is_causal)
            out.sum().item()
            left[way] = torch.memory_stats()["allocated_bytes.all.current"] - before
            grads = torch.autograd.grad(out.cos().sum(), (query, key, value))
            found[way] = [out.detach(), *grads]
            del out, grads
    weights = 2 * 300 * 300 * 4
    assert left[SDPBackend.MATH] >= weights > 3 * left[SDPBackend.EFFICIENT_ATTENTION]
    for got, wanted in zip(*found.values(), strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)


def test_dropout_is_the_same_in_backward(device):
    value = torch.eye(300, device=device).requires_grad_()
    query = torch.zeros(300, 4, device=device)
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        out = attend(query, query, value, dropout_p=0.5)
    out.backward(torch.ones_like(out))
    torch.testing.assert_close(value.grad[:, 0], out.detach().sum(0))


def test_which_is_taken():
    every = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    with sdpa_kernel(every):
        assert scores.way() is scores.at_once
        with sdpa_kernel(every, set_priority=True):
            assert scores.way() is scores.by_blocks
    with pytest.raises(RuntimeError, match="No viable backend"), sdpa_kernel(every[0]):
        attend(*torch.ones(3, 1, 2, 2))
    assert scores.way() is scores.at_once
