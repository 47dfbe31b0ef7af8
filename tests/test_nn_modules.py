"""Layers under the names of the modules where PyTorch has them."""

from collections import OrderedDict

import pytest

import wgtorch.nn as nn
import wgtorch.nn.modules.conv as conv
from wgtorch.nn.common_types import _size_2_t
from wgtorch.nn.modules.batchnorm import _BatchNorm, _NormBase
from wgtorch.nn.modules.utils import _pair, _reverse_repeat_tuple


def test_what_layers_are():
    assert isinstance(nn.BatchNorm2d(1), _BatchNorm) and isinstance(
        nn.LazyBatchNorm1d(), _BatchNorm
    )
    assert not isinstance(nn.InstanceNorm1d(1), _BatchNorm)
    assert isinstance(nn.InstanceNorm1d(1), _NormBase)
    assert issubclass(nn.ConvTranspose1d, conv._ConvNd) and conv.Conv2d is nn.Conv2d
    assert nn.modules.Linear is nn.Linear is nn.modules.linear.Linear


def test_arguments_of_several_dimensions():
    assert _pair(3) == (3, 3) and _pair([1, 2]) == (1, 2)
    assert _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert _size_2_t == int | tuple[int, int]


def test_a_prefix_goes():
    names = ["module.a.weight", "module.b", "c"]
    state = OrderedDict((name, i) for i, name in enumerate(names))
    state._metadata = OrderedDict([("", 0), ("module", 1), ("module.a", 2), ("c", 3)])
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert dict(state) == {"a.weight": 0, "b": 1, "c": 2}
    assert dict(state._metadata) == {"": 1, "a": 2, "c": 3}


@pytest.mark.parametrize("name", ["Conv2d", "LazyConv1d", "MaxPool3d", "BatchNorm1d"])
def test_errors_of_arguments_name_the_module(name):
    kind = getattr(nn, name)
    with pytest.raises(TypeError, match=rf"^{name}\.__init__\(\) missing "):
        kind()
    own = type("Own", (kind,), {})
    with pytest.raises(TypeError, match=rf"^{name}\.__init__\(\) got an unexpected"):
        own(strid=2)
