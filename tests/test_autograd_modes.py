"""no_grad, enable_grad, set_grad_enabled and inference_mode, as contexts and as decorators."""

import asyncio

import pytest

import wgtorch as torch


@pytest.fixture
def x():
    return torch.tensor([1.0, 2.0], requires_grad=True)


def test_contexts_nest_and_survive_errors(x):
    with torch.no_grad():
        assert not (x * 2.0).requires_grad
        with torch.enable_grad():
            assert (x * 2.0).requires_grad
            with pytest.raises(ZeroDivisionError), torch.no_grad():
                raise ZeroDivisionError
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_one_object_may_be_entered_again(x):
    off = torch.no_grad()
    with off:
        with off:
            assert not torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(
    "decorator",
    [lambda: torch.no_grad, lambda: torch.no_grad(), lambda: torch.set_grad_enabled(False)],
    ids=["bare", "called", "set"],
)
def test_decorators(x, decorator):
    @decorator()
    def double(t, by=2.0):
        "Doubles."
        return t * by

    assert torch.is_grad_enabled()
    assert not double(x).requires_grad and torch.is_grad_enabled()
    assert double.__name__ == "double" and double.__doc__ == "Doubles."


def test_a_generator_holds_its_mode_only_while_it_computes(x):
    @torch.no_grad()
    def steps():
        got = yield torch.is_grad_enabled()
        try:
            yield got, torch.is_grad_enabled()
        except KeyError:
            yield "caught", torch.is_grad_enabled()
        return "end"

    run = steps()
    assert next(run) is False and torch.is_grad_enabled()
    assert run.send("sent") == ("sent", False) and torch.is_grad_enabled()
    assert run.throw(KeyError()) == ("caught", False) and torch.is_grad_enabled()
    with pytest.raises(StopIteration) as end:
        next(run)
    assert end.value.value == "end"
    closed = steps()
    next(closed)
    closed.close()


def test_a_coroutine_holds_its_mode_only_while_it_computes():
    seen = []

    @torch.no_grad()
    async def work():
        seen.append(torch.is_grad_enabled())
        await asyncio.sleep(0)
        seen.append(torch.is_grad_enabled())
        return "done"

    async def other():
        seen.append(torch.is_grad_enabled())

    async def both():
        return await asyncio.gather(work(), other())

    assert asyncio.run(both())[0] == "done"
    assert seen == [False, True, False]


def test_set_grad_enabled_acts_at_once(x):
    try:
        torch.set_grad_enabled(False)
        assert not torch.is_grad_enabled()
        with torch.set_grad_enabled(True):
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


def test_inference_tensors_stay_out_of_graphs(x):
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        y = x * 2.0
        y.add_(1.0)
        with torch.enable_grad():
            assert not (x * 2.0).requires_grad
        view = x[0:1]
        with torch.inference_mode(False):
            assert (x * 2.0).requires_grad and not (x * 2.0).is_inference()
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    assert y.is_inference() and not x.is_inference() and not view.is_inference()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * y
    assert (x + y).requires_grad, "add saves nothing"
    for change in (lambda: y.resize_(1), lambda: y.t_(), lambda: y.set_(x)):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside"):
            change()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside Inference"):
        y.add_(1.0)
    with pytest.raises(RuntimeError, match="do not track version counter"):
        _ = y._version
    with pytest.raises(RuntimeError, match="requires_grad=True on inference tensor outside"):
        y.requires_grad_(True)
    assert (x * y.clone()).requires_grad
    assert not torch.tensor([1.0]).is_inference()


def test_inference_mode_decorates(x):
    @torch.inference_mode()
    def f():
        return torch.is_inference_mode_enabled()

    @torch.inference_mode
    def g():
        return torch.is_inference_mode_enabled()

    assert f() and g() and not torch.is_inference_mode_enabled()


def test_names_are_at_both_levels():
    for name in ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "is_grad_enabled"):
        assert getattr(torch, name) is getattr(torch.autograd, name)
    assert torch.autograd.grad_mode.no_grad is torch.no_grad
