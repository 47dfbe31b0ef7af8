"""Sequential, lists and dicts of modules and of parameters."""

from collections import OrderedDict

import pytest

import wgtorch as wt
from wgtorch import nn


def names(module):
    return [name for name, _ in module.named_children()]


def kinds(modules):
    return [type(m).__name__ for m in modules]


def three():
    return nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())


def test_sequential_calls_in_order():
    x = nn.Sequential(nn.ReLU(), nn.Threshold(1.0, 7.0))(wt.tensor([-1.0, 0.5, 2.0]))
    assert x.tolist() == [7, 7, 2]
    named = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    assert names(named) == ["a", "b"] and named.b is named[1]


def test_sequential_is_a_list():
    s = three()
    assert len(s) == 3 and kinds(s[1:]) == ["Tanh", "Sigmoid"] and names(s[1:]) == ["1", "2"]
    assert type(s[-1]).__name__ == "Sigmoid"
    s[0] = nn.Identity()
    s.append(nn.ELU()).insert(1, nn.GELU()).extend([nn.SELU()])
    assert kinds(s) == ["Identity", "GELU", "Tanh", "Sigmoid", "ELU", "SELU"]
    assert names(s) == list("012345")
    assert type(s.pop(1)).__name__ == "GELU"
    del s[1:3]
    assert kinds(s) == ["Identity", "ELU", "SELU"] and names(s) == list("012")
    assert kinds(s + three()) == ["Identity", "ELU", "SELU", "ReLU", "Tanh", "Sigmoid"]
    assert len(three() * 2) == 6 and len(2 * three()) == 6
    with pytest.raises(IndexError, match="index 5 is out of range"):
        s[5]
    with pytest.raises(ValueError, match="Non-positive multiplication factor 0"):
        three() * 0
    with pytest.raises(ValueError, match="supports only objects of Sequential class"):
        three() + nn.ModuleList([nn.ReLU()])
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        nn.Sequential(3)


def test_module_list():
    m = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    m += [nn.ELU()]
    m.insert(0, nn.GELU())
    assert kinds(m) == ["GELU", "ReLU", "Tanh", "ELU"] and isinstance(m[1:], nn.ModuleList)
    del m[0]
    assert names(m) == list("012") and m[-1] is m[2]
    assert isinstance(m + m, nn.ModuleList) and len(m + m) == 6
    assert not any(name.isdigit() for name in dir(m))
    with pytest.raises(TypeError, match="ModuleList.extend should be called with an iterable"):
        m.extend(3)


def test_module_dict():
    m = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
    m["c"] = nn.ELU()
    m.update([("d", nn.GELU())])
    assert list(m) == ["b", "a", "c", "d"] and "a" in m and len(m) == 4
    assert kinds(m.values()) == ["ReLU", "Tanh", "ELU", "GELU"]
    assert type(m.pop("a")).__name__ == "Tanh" and list(m.keys()) == ["b", "c", "d"]
    del m["b"]
    assert [key for key, _ in m.items()] == ["c", "d"]
    m.clear()
    assert len(m) == 0
    with pytest.raises(ValueError, match="element #0 has length 1; 2 is required"):
        m.update([("x",)])
    with pytest.raises(TypeError, match="iterable of key/value pairs, but got int"):
        m.update(3)


def test_parameter_list():
    p = nn.ParameterList([wt.zeros(2), nn.Parameter(wt.ones(3)), "text"])
    p.append(wt.zeros(1))
    assert [n for n, _ in p.named_parameters()] == ["0", "1", "3"]
    assert p[2] == "text" and p[-1].shape == (1,) and len(p[1:3]) == 2
    p[0] = wt.ones(5)
    assert isinstance(p[0], nn.Parameter) and p[0].shape == (5,)
    p += [wt.zeros(4)]
    assert [x if x == "text" else tuple(x.shape) for x in p] == [(5,), (3,), "text", (1,), (4,)]
    assert "(2): Object of type: str" in repr(p)
    with pytest.raises(IndexError, match="index 9 is out of range"):
        p[9]
    with pytest.raises(TypeError, match="ParameterList.extend should be called with an iterable"):
        p.extend(wt.zeros(2))
    with pytest.raises(RuntimeError, match="ParameterList should not be called"):
        p(1)


def test_parameter_dict():
    p = nn.ParameterDict({"b": wt.zeros(2), "a": wt.ones(1)})
    assert list(p) == ["a", "b"]  # plain dicts are sorted, as in PyTorch
    p["c"] = 3
    assert [n for n, _ in p.named_parameters()] == ["a", "b"] and p["c"] == 3
    assert p.get("x", 7) == 7 and p.setdefault("y", wt.ones(2)).requires_grad
    assert p.popitem()[0] == "y" and p.pop("c") == 3 and "c" not in p
    other = p | nn.ParameterDict([("z", wt.zeros(1))])
    assert list(other) == ["a", "b", "z"] and list(reversed(p)) == ["b", "a"]
    p.update([("d", wt.zeros(1))])
    assert list(p.keys()) == ["a", "b", "d"] and len(p.copy()) == 3
    p.clear()
    assert len(p) == 0 and list(p.fromkeys(["k"], 1).items()) == [("k", 1)]
    with pytest.raises(TypeError, match=r"not a string \(type is 'int'\)"):
        p[3] = wt.zeros(1)
