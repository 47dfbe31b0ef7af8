"""Files that travel between wgtorch and PyTorch as safetensors, both ways."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file, save_model  # noqa: E402

import wgtorch as wt  # noqa: E402

DTYPES = ["float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8",
          "bool"]  # fmt: skip


def net(nn):
    return nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2)
    )


def test_a_state_dict_of_pytorch(tmp_path, device):
    theirs, ours = net(torch.nn).eval(), net(wt.nn).eval().to(device)
    save_file(theirs.state_dict(), tmp_path / "model.safetensors")
    keys = ours.load_state_dict(wt.load(tmp_path / "model.safetensors", map_location=device))
    assert keys == ([], [])
    x = np.random.default_rng(0).standard_normal((5, 1, 6, 6)).astype(np.float32)
    np.testing.assert_allclose(
        ours(wt.tensor(x, device=device)).detach().cpu().numpy(),
        theirs(torch.tensor(x)).detach().numpy(),
        rtol=1e-5,
        atol=1e-5,
    )


def test_a_state_dict_for_pytorch(tmp_path):
    ours = net(wt.nn)
    wt.save(ours.state_dict(), tmp_path / "model.safetensors")
    theirs = net(torch.nn)
    theirs.load_state_dict(load_file(tmp_path / "model.safetensors"))
    for name, tensor in ours.state_dict().items():
        np.testing.assert_array_equal(theirs.state_dict()[name].numpy(), tensor.numpy())


def test_tied_weights(tmp_path):
    layers = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    layers[1].weight = layers[0].weight
    save_model(layers, str(tmp_path / "tied"))
    state = wt.load(tmp_path / "tied")
    assert state["0.weight"].tolist() == state["1.weight"].tolist()
    assert set(state) == {"0.weight", "0.bias", "1.weight", "1.bias"}


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_both_ways(name, tmp_path):
    theirs = (torch.arange(-3, 4) * 1.5).to(getattr(torch, name))
    bits = theirs.contiguous().view(torch.uint8).numpy().tobytes()
    save_file({"x": theirs}, tmp_path / "theirs")
    ours = wt.load(tmp_path / "theirs")["x"]
    assert ours.dtype is getattr(wt, name) and ours.numpy().tobytes() == bits
    wt.save({"x": ours}, tmp_path / "ours")
    back = load_file(tmp_path / "ours")["x"]
    assert back.dtype == theirs.dtype and torch.equal(back, theirs)
