"""Files of PyTorch's torch.save: what they hold, and that they can do nothing else."""

import base64
import io
import pickle
import zipfile
import zlib

import numpy as np
import pytest

import wgtorch as torch

# {"weight": arange(6.0) of shape (2, 3), "rows": weight[1:], "step": 7, "half": [1.5] in bfloat16}
NEW = (
    "c-"
    "p0uO;6N77{{mWzFBm6QCUF6>zd%wF0>RC7pwNtgUcF|&0d<)E!)PjW!hPYCMF~X5)u#U!K3l$Cy;{|zk+v9dQeY(1!r0"
    ")ZIK0JveQYo^MC%o>GM3Tt4s!fLIE5aLtq5xo?+SR=5$*}dS&gYqsT?jN{mhV1q9`04huF+yJI0p8OX)5iq=E6<FlG)F"
    "86Gwts%4PyPmdQWg%TIH}hEG<DGiPgiI)5701=l<M2-"
    "wW||b<!@+Em!K<;>gE=*aV17vjDy=fxu%I$3wGGeh7>4UOrh#m?>$8u%w&|Je2eyG&$lhqc0R+!C;DshWC-"
    "B@29~LbPU@=z4%349l!6g!jgd7S(4)0h*IfCHD2D}s~ePph|%W6Kjv2<qzj)r0O*yRA87bE;qfX~A*>_H(oPOzyhI6*E"
    "~!uVGayw-q|y-Hop7e4J?uPInUX8p*llz<RrrLy9Bt2)xwP0z<iS7bhwoD&S5SnvM%_L9Jod9?Kem^-"
    "lEOP!`WcBi{)c99~_oZh|F5@!iOZ3F(Mu?5{1U>MXQfaPb%bV;Ta`S$<#?hnUC$T11S*20f*QpUNy3`KA^(G}C2BHua#"
    "Kp1tihA)fwhvz1q9~KEw>GjVyWB9??F+@{IB3_ZpCnow*BTlb=J-"
    "l=L`yT}NBB!Y47S8haTdf(E_<w!hd2+n}B&Z$~U~p95^lV&#&vnxJn%!39$|-"
    "R;LF9Q(5~?#IKQGR4LUn$Y<0Mg#B)%$2!n`1fVwDpK<^AI4?`6zU4k#%C8*#?Fcjyp#`a7Cd#~ZMeP`;zUQT?6{5^ti3"
    "WaH4FPv@rN#2aBa5$A0zPSk*DdAw?i3Hc}kQoWPb#_KSt{g~GBX>GiQ1{2zm3`o~)S{zU9Wb({0@xP0%uI6%6`z6ZUjF"
    "g4cIzWf3lnqy`%Lm^1@IL(dW^<vY5bO{4{spv@t3m"
)  # as an archive
OLD = (
    "c-n1{OK%e~5XbkG1Pm=L@A4|g^b$3zBs8a12=!v|Xt?YJt-"
    "{8{M%FrG&$a@oQZ7`K&%l8rAA_&MM?m7hc$e29mOYZkGymWGy^KCF{qytTkB4u+zS!z5qo?0vil-"
    "2CvyC7K7S^CCjLwgRb;^_wQbD#xFIpjLk&AMsrX@rlGe${#w-C8g?}dZ-"
    "6q0V%qNJ0?BD8pv#dK38LYpU9;x$Y;hYnAw>JPI`*%P7W5+N+m*h2R53YB&&x8ilB^ejhFI%D(WltI+(W*twU%IRD{+_"
    "bPmZKn9LNis;Xb*dQ;`swh|UfNH0$Ndyq^)SVvqG8(45IRRZ;1Q3{-~x|%cm@~G3-"
    "YZ+fn?jU=XNHnm_1PiGGIFsxP)+d0&BGoYfc=jOBzSUawYDHY%m)~Ufp9h8_d;n>D8_wT%W*=TFs$Yz)jw%FLJ8iz^z9"
    "5x4Xx+z5eL0!Q20cqw#RGyEhyRV2g+$5$||o;Rm?u!@Y)fAK}3Sw*9Za^1r^KJzV7?61^~J*0=q3@c&xwQ#hbaXG!PF!"
    "7rL)n}Y"
)  # as it was before PyTorch 1.6


def unpacked(text):
    return zlib.decompress(base64.b85decode(text))


class Stream:
    """A file that can only be read on."""

    def __init__(self, data):
        self.read = io.BytesIO(data).read


@pytest.mark.parametrize("opened", [io.BytesIO, Stream])
@pytest.mark.parametrize("text", [NEW, OLD], ids=["new", "old"])
def test_a_file_of_each_format(text, opened):
    found = torch.load(opened(unpacked(text)))
    assert list(found) == ["weight", "rows", "step", "half"] and found["step"] == 7
    assert found["weight"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["half"].dtype is torch.bfloat16 and found["half"].tolist() == [1.5]
    found["rows"].zero_()  # memory that was shared is shared again
    assert found["weight"].tolist() == [[0, 1, 2], [0, 0, 0]]


def test_on_a_device_and_from_a_path(device, tmp_path):
    (tmp_path / "model.pt").write_bytes(unpacked(NEW))
    found = torch.load(tmp_path / "model.pt", map_location=device)
    assert found["weight"].device == torch.device(device)
    found["weight"].mul_(2)
    assert found["rows"].tolist() == [[6, 8, 10]]
    file = io.BytesIO(b"before" + unpacked(OLD))
    file.seek(6)
    assert torch.load(file)["step"] == 7


# What a pickle may do


def text(said):
    return b"X" + len(said).to_bytes(4, "little") + said.encode()


def named(module, name):
    return f"c{module}\n{name}\n".encode()


def called(function, *arguments):
    return function + b"(" + b"".join(arguments) + b"tR"


def row(*numbers):
    return b"(" + b"".join([b"K" + bytes([n]) for n in numbers]) + b"t"


def stored(kind="FloatStorage", numel=2, module="torch"):
    facts = text("storage") + named(module, kind) + text("0") + text("cpu")
    return b"(" + facts + b"K" + bytes([numel]) + b"tQ"


def floats(size, stride, offset=0, memory=None):
    rebuild = named("torch._utils", "_rebuild_tensor_v2")
    hooks = called(named("collections", "OrderedDict"))
    offset = b"K" + bytes([offset])
    return called(rebuild, memory or stored(), offset, row(*size), row(*stride), b"\x89", hooks)


def archive(program, order=b"little", how=zipfile.ZIP_STORED):
    """Two floats, and a program that puts them somewhere."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as entries:
        entries.writestr("any/data.pkl", b"\x80\x02" + program + b".")
        entries.writestr("any/byteorder", order)
        entries.writestr("any/data/0", np.array([1.5, 2.5], "f4").tobytes())
    file.seek(0)
    return file


def test_a_program_of_our_own():
    assert torch.load(archive(floats((2,), (1,)))).tolist() == [1.5, 2.5]
    assert torch.load(archive(floats((3,), (0,), 1))).tolist() == [2.5] * 3
    memory = torch.load(archive(stored()))
    assert isinstance(memory, torch.TypedStorage) and memory.tolist() == [1.5, 2.5]
    itself = torch.load(archive(b"]q\x00h\x00a"))  # a list that holds itself
    assert itself[0] is itself
    twice = floats((2,), (1,)) + b"q\x01"
    first, second = torch.load(archive(b"(" + twice + b"h\x01l"))
    assert first is second


REFUSED = {
    "a shell": called(named("os", "system"), text("exit 3")),
    "a built-in": called(named("builtins", "eval"), text("1 / 0")),
    "one inside": called(named("builtins", "getattr"), stored(), text("home")),
    "a class": named("torch.nn.modules.linear", "Linear") + b")\x81}b",
    "a dtype that is not here": named("torch", "float8_e4m3fn"),
    "of this library": named("wgtorch.pickled", "Name"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_nothing_is_run(case):
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global: GLOBAL "):
        torch.load(archive(REFUSED[case]), weights_only=False)


def changed(subject):
    """A state for what a pickle reached."""
    return subject + b"N}" + text("itemsize") + b"K\x07s\x86b"


DAMAGED = {
    "a dtype's state": changed(named("torch", "float32")),
    "a function's state": changed(named("torch._utils", "_rebuild_tensor_v2")),
    "a device's state": changed(called(named("torch", "device"), text("cpu"))),
    "a tensor's state": changed(floats((2,), (1,))),
    "more elements than there are": floats((3,), (1,)),
    "an offset": floats((2,), (1,), 1),
    "strides that are too few": floats((1, 2), (1,)),
    "a size of a fraction": called(named("torch", "Size"), b"(G" + bytes(8) + b"t"),
    "elements of another length": floats((2,), (1,), memory=stored(numel=3)),
    "elements of no kind": floats((2,), (1,), memory=stored("float32")),
    "no elements": floats((2,), (1,), memory=b"K\x01"),
    "a dtype that is called": called(named("torch", "float32")),
    "an end too soon": b"(",
    "a number for which there is no memory": b"Nr\xff\xff\xff\x7f",
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files_are_refused(case):
    with pytest.raises(RuntimeError, match="no file of torch.save, or a damaged one"):
        torch.load(archive(DAMAGED[case]))
    assert torch.float32.itemsize == 4 and torch.device("cpu").type == "cpu"
    assert torch.load(archive(floats((2,), (1,)))).tolist() == [1.5, 2.5]


def test_other_files_are_named():
    whole = unpacked(NEW)
    for data in (whole[:700], whole[:-30], unpacked(OLD)[:-4], unpacked(OLD)[:60]):
        with pytest.raises(RuntimeError, match="damaged"):
            torch.load(io.BytesIO(data))
    squeezed = archive(floats((2,), (1,)), how=zipfile.ZIP_DEFLATED).getvalue()
    elements, way = squeezed.index(b"data.pkl") + 8, squeezed.index(b"PK\x01\x02") + 10
    for place in (elements, way):  # what zlib does not know, and what zipfile does not
        with pytest.raises(RuntimeError, match="damaged"):
            torch.load(io.BytesIO(squeezed[:place] + b"\xff" + squeezed[place + 1 :]))
    with pytest.raises(RuntimeError, match="big-endian"):
        torch.load(archive(floats((2,), (1,)), order=b"big"))
    with pytest.raises(RuntimeError, match="is a pickle, but none of torch.save's"):
        torch.load(io.BytesIO(pickle.dumps({"a": 1})))
