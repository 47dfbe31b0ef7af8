"""The counter of floating point operations, and the tracker of modules under it."""

import pytest

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.utils import flop_counter
from wgtorch.utils.checkpoint import checkpoint
from wgtorch.utils.flop_counter import FlopCounterMode
from wgtorch.utils.module_tracker import ModuleTracker


def counted(program, **options):
    with FlopCounterMode(display=False, **options) as counter:
        program()
    return counter


def test_forward_and_backward_by_module(device, capsys):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    x = torch.ones(5, 3, device=device)
    model.to(device)
    with FlopCounterMode() as counter:
        model(x).sum().backward()
    first, last = 2 * 5 * 3 * 4, 2 * 5 * 4 * 2
    counts = counter.get_flop_counts()
    assert counts["Sequential.0"] == {"aten.addmm": first, "aten.mm": first}  # of the weight alone
    assert counts["Sequential.2"] == {"aten.addmm": last, "aten.mm": 2 * last}
    assert counter.get_total_flops() == sum(counts["Sequential"].values()) == 2 * first + 3 * last
    lines = capsys.readouterr().out.split("\n")
    assert lines[:4] == [
        "Module             FLOP    % Total",
        "--------------  -------  ---------",
        "Sequential      480.000    100.00%",
        " - aten.addmm   200.000     41.67%",
    ]
    torch.ones(2, 2, device=device) @ torch.ones(2, 2, device=device)
    assert counter.get_total_flops() == 480 and type(backend(x.device)) is not flop_counter.Counted


def test_nothing_need_be_computed():
    model = torch.nn.Conv2d(3, 8, 3, device="meta")
    x = torch.empty(2, 3, 10, 10, device="meta")
    assert counted(lambda: model(x)).get_flop_counts()["Conv2d"] == {
        "aten.convolution": 2 * 2 * 8 * 8 * 8 * 3 * 9
    }


def test_what_runs_again_is_counted_again():
    x, w = torch.ones(2, 3), torch.ones(3, 4, requires_grad=True)
    image, kernel = torch.ones(1, 1, 5), torch.ones(1, 1, 2, requires_grad=True)
    once, step = 2 * 2 * 3 * 4, 2 * 4 * 2

    def program():
        checkpoint(lambda w: (x @ w).cos(), w).sum().backward()
        checkpoint(lambda k: torch.nn.functional.conv1d(image, k).cos(), kernel).sum().backward()

    assert counted(program).get_flop_counts()["Global"] == {
        "aten.mm": 3 * once, "aten.convolution": 2 * step, "aten.convolution_backward": step,
    }  # fmt: skip


def test_a_batch_of_products_counts_as_one(device):
    a, b = torch.ones(5, 2, 3, device=device), torch.ones(3, 4, device=device)
    counter = counted(lambda: torch.vmap(lambda a: a @ b)(a))
    assert counter.get_total_flops() == 5 * 2 * 2 * 3 * 4


def test_formulas_of_ones_own(monkeypatch):
    monkeypatch.setattr(flop_counter, "FORMULAS", dict(flop_counter.FORMULAS))
    exponentials = {"aten.exp": lambda x, out_shape, **given: 10 * x[0]}
    assert counted(lambda: torch.ones(3).exp(), custom_mapping=exponentials).get_flop_counts() == {
        "Global": {"aten.exp": 30}
    }
    flop_counter.register_flop_formula("sum")(lambda x, out_shape, **given: x[0] - 1)
    assert counted(lambda: torch.ones(8).sum()).get_total_flops() == 7
    with pytest.raises(RuntimeError, match="duplicate registrations for mm"):
        flop_counter.register_flop_formula("mm")(len)
    with pytest.raises(ValueError, match="to be the name of an op"):
        flop_counter.register_flop_formula([torch.mm])(len)
    assert counted(lambda: None).get_table().endswith("Global         0         0%")


def test_which_modules_run():
    seen = []

    class Inner(torch.nn.Module):
        def forward(self, x):
            seen.append(tracker.parents)
            x.register_hook(lambda grad: seen.append((tracker.is_bw, tracker.parents)))
            return x * 2

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x + 1)

    with ModuleTracker() as tracker:
        Outer()(torch.ones(1, requires_grad=True)).backward()
        assert tracker.parents == {"Global"}
    assert seen == [
        {"Global", "Outer", "Outer.inner"},
        (True, {"Global", "Outer"}),  # its own gradient is known: it has left
    ]
