"""What tests of launches share: random operands on the GPU, and how close a result must be."""

import numpy as np

import wgtorch as torch


def normal(*shape, seed=0, **facts):
    array = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return array, torch.tensor(array, device="webgpu", **facts)


def close(have, want, tolerance=2e-4):
    np.testing.assert_allclose(have.detach().cpu().numpy(), want, rtol=tolerance, atol=tolerance)
