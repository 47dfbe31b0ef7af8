"""Saving and loading: exact round trips, what other programs wrote, and bad files."""

import io
import json
from collections import OrderedDict

import ml_dtypes
import numpy as np
import pytest
from safetensors import numpy as st

import wgtorch as wt
from wgtorch.save import load, save

RNG = np.random.default_rng(0)
ARRAYS = {
    "weight": RNG.standard_normal((3, 4)).astype(np.float32),
    "half": RNG.standard_normal(5).astype(np.float16),
    "count": np.array(7),
    "flags": np.array([True, False, True]),
    "bytes": np.arange(3, dtype=np.uint8),
    "small": np.arange(-2, 2, dtype=np.int8).reshape(2, 2),
    "empty": np.zeros((0, 3), np.float32),
    "double": np.array([1 / 3]),
}


def state(device="cpu"):
    return {name: wt.tensor(array, device=device) for name, array in ARRAYS.items()}


def written(obj):
    file = io.BytesIO()
    save(obj, file)
    file.seek(0)
    return file


def test_a_state_dict_comes_back_in_order_and_bit_for_bit(tmp_path):
    path = tmp_path / "state.safetensors"
    save(state(), path)
    back = load(path)
    assert list(back) == list(ARRAYS)
    for name, array in ARRAYS.items():
        got = back[name].numpy()
        assert got.dtype == array.dtype and got.shape == array.shape
        assert got.tobytes() == array.tobytes()


def test_other_safetensors_programs_read_it(tmp_path):
    save(state(), tmp_path / "s")
    theirs = st.load_file(tmp_path / "s")
    assert theirs.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert theirs[name].dtype == array.dtype
        np.testing.assert_array_equal(theirs[name], array)


def test_it_reads_what_other_safetensors_programs_write(tmp_path):
    st.save_file(ARRAYS, tmp_path / "s", metadata={"format": "pt", "tied": "weight"})
    back = load(str(tmp_path / "s"))
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(back[name].numpy(), array)
    np.testing.assert_array_equal(back["tied"].numpy(), ARRAYS["weight"])


def test_bfloat16_keeps_its_bits():
    array = np.array([1.5, -3.25, np.inf], ml_dtypes.bfloat16)
    back = load(written({"x": wt.tensor(array)}))["x"]
    assert back.dtype is wt.bfloat16
    assert back.numpy().tobytes() == array.tobytes()


def test_views_are_saved_as_what_they_show():
    x = wt.tensor(np.arange(12.0, dtype=np.float32).reshape(3, 4))
    back = load(written({"t": x.transpose(0, 1)}))["t"]
    np.testing.assert_array_equal(back.numpy(), np.arange(12.0).reshape(3, 4).T)


def test_a_checkpoint_keeps_its_structure():
    moment = wt.tensor([1.0, 2.0])
    obj = {
        "epoch": 3,
        "loss": float("inf"),
        "name": "net.1",
        "none": None,
        "optimizer": {"state": {0: {"step": 5, "m": moment}}, "groups": [{"betas": (0.9, 0.999)}]},
        "net": OrderedDict([("b", wt.tensor([1])), ("a", wt.tensor([2]))]),
        "dtype": wt.bfloat16,
        "shape": wt.Size((2, 3)),
        "net.b": wt.tensor([4]),
    }
    back = load(written(obj))
    assert list(back) == list(obj)
    assert back["epoch"] == 3 and back["loss"] == float("inf") and back["none"] is None
    assert back["optimizer"]["groups"] == [{"betas": (0.9, 0.999)}]
    assert back["optimizer"]["state"][0]["step"] == 5
    assert back["optimizer"]["state"][0]["m"].tolist() == [1.0, 2.0]
    assert isinstance(back["net"], OrderedDict) and list(back["net"]) == ["b", "a"]
    assert back["net"]["b"].tolist() == [1] and back["net.b"].tolist() == [4]
    assert back["dtype"] is wt.bfloat16
    assert back["shape"] == (2, 3) and isinstance(back["shape"], wt.Size)


def test_what_else_checkpoints_hold():
    saved = {
        "array": np.arange(6, dtype=np.int16).reshape(2, 3)[:, ::2], "set": {1, "a"}, 3: 1 - 2j,
        "bytes": b"\x00\xff", "frozen": frozenset({(1, 2)}), "number": np.complex64(1j),
    }  # fmt: skip
    back = load(written(saved))
    assert isinstance(back["array"], np.ndarray) and back["array"].dtype == np.int16
    assert back.pop("array").tolist() == saved.pop("array").tolist() and back == saved


@pytest.mark.parametrize("name", ["__metadata__", "pt", "wgtorch", "format", ""])
def test_a_tensor_may_have_any_name(name):
    back = load(written({name: wt.tensor([1, 2]), "other": wt.ones(1)}))
    assert list(back) == [name, "other"] and back[name].tolist() == [1, 2]


def test_a_single_tensor_and_what_it_wants():
    x = wt.tensor([1.0, 2.0], requires_grad=True)
    back = load(written(x))
    assert back.tolist() == [1.0, 2.0] and back.requires_grad
    assert not load(written([x.detach()]))[0].requires_grad


def test_tensors_return_to_their_device(device):
    back = load(written({"x": wt.tensor([1.0, 2.0], device=device)}))["x"]
    assert back.device == wt.device(device) and back.tolist() == [1.0, 2.0]


def test_map_location_moves(device):
    x = wt.tensor([3.0], device=device)
    assert load(written([x]), map_location="cpu")[0].is_cpu
    assert load(written({"x": x.cpu()}), map_location=device)["x"].device == wt.device(device)
    assert load(written([x]), {str(x.device): "cpu"})[0].is_cpu
    seen = []
    load(written([x]), lambda t, home: seen.append((t.device.type, home)))
    assert seen == [("cpu", str(x.device))]


def test_a_device_that_is_not_here_is_named():
    file = written([wt.tensor([1.0])])
    text = file.getvalue().replace(b'\\"cpu\\"', b'\\"xyz\\"')
    with pytest.raises(RuntimeError, match=r"saved from xyz.*map_location='cpu'"):
        load(io.BytesIO(text))


def test_an_open_file_stays_open():
    file = io.BytesIO()
    save({"x": wt.tensor([1])}, file)
    assert not file.closed


# What cannot be saved or read


def test_objects_that_cannot_be_saved_are_named():
    with pytest.raises(TypeError, match=r"type function \(hooks.0\)"):
        save({"hooks": [lambda: 0]}, io.BytesIO())
    itself = []
    itself.append(itself)
    with pytest.raises(ValueError, match="holds itself"):
        written(itself)
    with pytest.raises(TypeError, match="type tuple"):
        save({(1, 2): wt.tensor([1])}, io.BytesIO())


def test_paths_that_are_wrong(tmp_path):
    with pytest.raises(FileNotFoundError, match="no-such"):
        load(tmp_path / "no-such")
    with pytest.raises(RuntimeError, match="Parent directory .*missing does not exist"):
        save({}, tmp_path / "missing" / "file")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)


def test_files_that_are_closed_or_of_the_wrong_kind(tmp_path):
    closed = io.BytesIO(b"123")
    closed.close()
    for act in (lambda: load(closed), lambda: save({}, closed)):
        with pytest.raises(ValueError, match="I/O operation on closed file"):
            act()
    with pytest.raises(TypeError, match="expected a path or a file opened with 'rb', got int"):
        load(3)
    with pytest.raises(TypeError, match="expected a path or a file opened with 'wb', got NoneType"):
        save({}, None)
    path = tmp_path / "file"
    save({"x": wt.tensor([1])}, path)
    with open(path) as text, pytest.raises(TypeError, match="text mode; open it with 'rb'"):
        load(text)
    with open(path, "rb") as reader, pytest.raises(io.UnsupportedOperation, match="for writing"):
        save({}, reader)


GOOD = written({"x": wt.tensor([1.0, 2.0])}).getvalue()


def with_header(header):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + b"\0" * 8


ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
DAMAGED = {
    "cut in the data": (GOOD[:-1], "ends after 7 of the 8 bytes of 'x'"),
    "cut in the header": (GOOD[:20], "ends within its header"),
    "cut in the length": (GOOD[:5], "header would be"),
    "long header": (b"\xff" * 8 + GOOD, "header would be"),
    "no JSON": (GOOD[:8] + b"{" * (len(GOOD) - 8), "not JSON"),
    "an array": (with_header([1]), "no JSON object"),
    "more data": (GOOD + b"\0", "more after the 8 bytes"),
    "a hole": (with_header({"x": ENTRY | {"data_offsets": [4, 12]}}), "byte 4 instead of 0"),
    "wrong size": (with_header({"x": ENTRY | {"shape": [3]}}), "8 bytes of F32"),
    "negative": (with_header({"x": ENTRY | {"data_offsets": [-8, 0]}}), "the entry of 'x' is"),
    "no entry": (with_header({"x": 3}), "the entry of 'x' is 3"),
    "offsets of text": (with_header({"x": ENTRY | {"data_offsets": ["0", "8"]}}), "entry of 'x'"),
    "sizes of floats": (with_header({"x": ENTRY | {"shape": [2.0]}}), "entry of 'x'"),
    "sizes of bools": (with_header({"x": ENTRY | {"shape": [True, 2]}}), "entry of 'x'"),
    "negative sizes": (with_header({"x": ENTRY | {"shape": [-1, -2]}}), "entry of 'x'"),
    "a size too large": (
        with_header({"x": {"dtype": "F32", "shape": [0, 1 << 64], "data_offsets": [0, 0]}}),
        "no tensor of the shape",
    ),
    "a depth": ((100_000).to_bytes(8, "little") + b"[" * 100_000, "header is not JSON"),
    "metadata of a number": (with_header({"__metadata__": 5, "x": ENTRY}), "its metadata is 5"),
    "metadata of lists": (
        with_header({"__metadata__": {"a": ["x"]}, "x": ENTRY}),
        "not strings by name",
    ),
    "dtypes": (
        with_header({"__metadata__": {"wgtorch.dtypes": "{"}, "x": ENTRY}),
        "its structure cannot be read",
    ),
    "structure": (
        with_header({"__metadata__": {"wgtorch": '{"dict": 3}'}, "x": ENTRY}),
        "its structure cannot be read",
    ),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files_are_refused(case):
    data, why = DAMAGED[case]
    with pytest.raises(RuntimeError, match=f"no safetensors file, or a damaged one: .*{why}"):
        load(io.BytesIO(data))
    assert load(io.BytesIO(GOOD))["x"].tolist() == [1.0, 2.0]


def test_an_empty_file_is_named():
    with pytest.raises(EOFError, match="is empty"):
        load(io.BytesIO())


def test_element_types_that_are_unknown_are_named():
    with pytest.raises(TypeError, match="'x' in the file is of type F8_E5M2"):
        load(io.BytesIO(with_header({"x": ENTRY | {"dtype": "F8_E5M2"}})))


# Memory in common


def test_tied_weights_come_back_tied(tmp_path):
    w = wt.tensor(ARRAYS["weight"])
    save({"a": w, "b": w, "rows": w[1:], "t": w.t(), "other": w.clone()}, tmp_path / "s")
    theirs = st.load_file(tmp_path / "s")  # other programs see each of them
    np.testing.assert_array_equal(theirs["t"], ARRAYS["weight"].T)
    back = load(tmp_path / "s")
    back["a"].mul_(2)
    for name, wanted in (("b", w * 2), ("rows", w[1:] * 2), ("t", w.t() * 2), ("other", w)):
        np.testing.assert_array_equal(back[name].numpy(), wanted.numpy())
    back["rows"][0, 0] = 77
    assert back["a"][1, 0] == back["t"][0, 1] == 77
    assert back["a"].is_leaf and not back["rows"]._is_view()


def test_views_of_a_memory_that_none_shows_whole(device):
    row = wt.arange(10.0, device=device)
    saved = {"left": row[:6:2], "list": [row[3:], row[3:].reshape(1, 7)], "alone": row.clone()[4:]}
    back = load(written(saved))
    left, (right, matrix) = back["left"], back["list"]
    assert left.tolist() == [0, 2, 4] and matrix.tolist() == [[3, 4, 5, 6, 7, 8, 9]]
    assert left.device.type == right.device.type == device
    right.fill_(-1)
    assert left.tolist() == [0, 2, -1] and matrix.tolist() == [[-1] * 7]
    assert back["alone"].tolist() == [4, 5, 6, 7, 8, 9]
    assert back["alone"].untyped_storage().nbytes() == 24


def test_the_memory_is_written_once_and_moved_once(webgpu):
    row = wt.arange(1000.0, device=webgpu)
    file = written([row[:999], row[1:], row[2:].requires_grad_()])
    assert len(file.getvalue()) < 5000
    first, second, third = load(file, map_location=webgpu)
    second.zero_()
    assert (first.sum(), third.sum()) == (0, 0)
    assert (first.requires_grad, third.requires_grad) == (False, True)


@pytest.mark.parametrize(
    "entry", [["a", [9], [1], 0], ["a", [2], [1], -1], ["a", [2], [-1], 3], ["c", [1], [1], 0],
              ["a", [2], [1, 1], 0], ["a", ["2"], [1], 0], [], 3]
)  # fmt: skip
def test_views_that_leave_their_memory(entry):
    file = io.BytesIO()
    arrays = {"a": np.zeros(4, np.float32), "b": np.zeros(4, np.float32)}
    file.write(st.save(arrays, metadata={"wgtorch.views": json.dumps({"b": entry})}))
    file.seek(0)
    with pytest.raises(RuntimeError, match="damaged"):
        load(file)
