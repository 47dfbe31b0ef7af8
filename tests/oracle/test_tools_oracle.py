"""Custom autocast functions, measurements and DLPack against torch."""

import importlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import wgtorch as wt  # noqa: E402
from tests.oracle.beside import Programs, alike, outcome  # noqa: E402

RUN = Programs()


def product(t, **options):
    """A function whose forward and backward are products of matrices, and what dtypes they saw."""
    seen = []

    class Product(t.autograd.Function):
        @staticmethod
        @t.amp.custom_fwd(device_type="cpu", **options)
        def forward(ctx, a, b, more=None):
            ctx.save_for_backward(a, b)
            result = a @ b
            seen.append([str(a.dtype), str(b.dtype), str(result.dtype),
                         None if more is None else str(more[0]["x"].dtype)])  # fmt: skip
            return result

        @staticmethod
        @t.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            seen.append([str(grad.dtype), str((a.float() @ b.float()).dtype)])
            return (grad.float() @ b.T.float()).to(a.dtype), None, None

    return Product, seen


def learned(t, enabled, **options):
    function, seen = product(t, **options)
    a = t.ones(2, 2, requires_grad=True)
    with t.autocast("cpu", dtype=t.bfloat16, enabled=enabled):
        result = function.apply(a, t.ones(2, 2), [{"x": t.ones(1), "y": "z"}])
    result.float().sum().backward()
    return seen, str(result.dtype), a.grad, str(a.grad.dtype)


RUN["in autocast"] = lambda t: learned(t, True)
RUN["outside of autocast"] = lambda t: learned(t, False)
RUN["cast to float32"] = lambda t: learned(t, True, cast_inputs=t.float32)
RUN["cast to float16"] = lambda t: learned(t, True, cast_inputs=t.float16)
RUN["cast outside"] = lambda t: learned(t, False, cast_inputs=t.float16)
RUN["no device"] = lambda t: t.amp.custom_fwd(device_type=3)
RUN["no device behind"] = lambda t: t.amp.custom_bwd(device_type=None)


def measured(t, raw, number=10, **task):
    bench = importlib.import_module(f"{t.__name__}.utils.benchmark")
    spec = bench.TaskSpec(**{"stmt": "f(x)", "setup": "pass", **task})
    found = bench.Measurement(number, raw, spec)
    said = repr(found).partition("\n")[2]
    facts = found.median, found.mean, found.iqr, found.significant_figures, found.has_warnings
    return said, facts, found.title, found.as_row_name, found.meets_confidence(0.5)


RUN["one time"] = lambda t: measured(t, [0.25])
RUN["times"] = lambda t: measured(t, [2e-3, 2.1e-3, 2.05e-3, 2e-3], label="l", sub_label="s")
RUN["times apart"] = lambda t: measured(t, [1.0, 2.0, 6.0, 3.0, 1.0], setup="x = 1", env="e")
RUN["times a bit apart"] = lambda t: measured(t, [1.0, 1.1, 1.15, 1.2, 1.3], num_threads=3)
RUN["lines"] = lambda t: measured(t, [1e-5] * 5, stmt="a\nb", setup="c\nd", description="e")


@RUN
def words_of_measurements(t):
    bench = importlib.import_module(f"{t.__name__}.utils.benchmark")
    numbers = 0.5, 3e-9, 2e-7, 5e-4, 2.0, 3e-2, 700.0
    units = [bench.select_unit(n)[0] for n in numbers]
    trimmed = [bench.trim_sigfig(n * 1.23456, 3) for n in numbers]
    return units, trimmed, bench.ordered_unique([3, 1, 3]), bench.unit_to_english("us")


TASKS = [  # what of the task, times
    ({"stmt": "x + 1", "label": "add", "description": "cpu"}, [2e-4, 2.1e-4, 2.2e-4]),
    ({"stmt": "x + 1", "label": "add", "description": "gpu"}, [1.9e-4] * 4),
    ({"stmt": "x + 1", "label": "add", "description": "gpu"}, [1.95e-4] * 2),
    ({"stmt": "y", "label": "add", "sub_label": "long", "description": "cpu"}, [1e-3, 3e-3, 2e-3]),
    ({"stmt": "x + 1", "label": "add", "description": "a long name", "num_threads": 4}, [0.02]),
    ({"stmt": "y", "label": "mul", "description": "cpu", "env": "here"}, [1e-6]),
    ({"stmt": "y", "label": "mul", "description": "gpu", "env": "here"}, [1.05e-6, 1.06e-6]),
    ({"stmt": "y", "label": "mul", "description": "gpu", "env": "elsewhere"}, [6e-6]),
    ({"stmt": "z", "label": "mul", "description": "cpu", "env": "elsewhere"}, [2e-6]),
    ({"stmt": "z", "label": "mul", "description": "gpu", "env": "here"}, [123e-6]),
]  # fmt: skip


def compared(t, *settings):
    bench = importlib.import_module(f"{t.__name__}.utils.benchmark")
    found = [bench.Measurement(1, times, bench.TaskSpec(setup="", **task)) for task, times in TASKS]
    table = bench.Compare(found[:3])
    table.extend_results(found[3:])
    for setting in settings:
        eval(f"table.{setting}", {"table": table})
    return str(table).split("\n")


SETTINGS = ["trim_significant_figures()", "colorize()", "colorize(True)", "highlight_warnings()"]
RUN["compared"] = compared
RUN["compared, all"] = lambda t: compared(t, *SETTINGS[:2], SETTINGS[3])
for _setting in SETTINGS:
    RUN[f"compared, {_setting}"] = lambda t, setting=_setting: compared(t, setting)
RUN["compared with no measurement"] = lambda t: importlib.import_module(
    f"{t.__name__}.utils.benchmark"
).Compare([3])


TIMERS = {
    "a language": {"language": "x"},
    "a function": {"stmt": print},
    "a global setup": {"global_setup": "x"},
}
for _name, _options in TIMERS.items():
    RUN[f"refused: {_name}"] = lambda t, o=_options: importlib.import_module(
        f"{t.__name__}.utils.benchmark"
    ).Timer(**o)


@RUN
def from_dlpack(t):
    pack = importlib.import_module(f"{t.__name__}.utils.dlpack")
    array = np.arange(3.0)
    shared, own = pack.from_dlpack(array), pack.from_dlpack(array, copy=True)
    array[0] = 5
    kinds = [int(kind) for kind in pack.DLDeviceType]
    return shared, own, pack.from_dlpack(pack.to_dlpack(t.ones(2))), kinds


@RUN
def a_capsule_to_a_device(t):
    pack = importlib.import_module(f"{t.__name__}.utils.dlpack")
    pack.from_dlpack(pack.to_dlpack(t.ones(2)), device="cpu")


@pytest.mark.parametrize("name", RUN)
def test_as_torch(name):
    got, _ = outcome(wt, RUN[name])
    wanted, _ = outcome(torch, RUN[name])
    assert alike(got, wanted), (got, wanted)
