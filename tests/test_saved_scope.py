"""How long hooks and what they packed live, and where they count."""

import asyncio
import inspect
import threading

import numpy as np
import pytest
from recorder import Recorder, T, close, graph, same

import wgtorch as torch


def test_backward_on_another_thread_uses_the_stored_pair(device):
    x = T([1.0, 2.0], device, grad=True)
    r = Recorder()
    with r.hooks():
        y = (x * x).sum()
    errors = []

    def worker():
        try:
            y.backward()
        except Exception as e:
            errors.append(e)

    t = threading.Thread(target=worker)
    t.start()
    t.join(20)
    assert not errors and len(r.unpacked) == 2
    close(x.grad, [2.0, 4.0])


def test_one_context_object_can_be_nested_and_reused(device):
    x = T([1.0], device, grad=True)
    r = Recorder()
    ctx = r.hooks()
    with ctx:
        with ctx:
            x.exp()
        x.exp()
    x.exp()
    with ctx:
        x.exp()
    assert len(r.packed) == 3


def test_exception_in_the_block_restores_the_outer_pair(device):
    x = T([1.0], device, grad=True)
    outer, inner = Recorder(), Recorder()
    with outer.hooks():
        with pytest.raises(KeyError), inner.hooks():
            x.exp()
            raise KeyError("user error")
        x.exp()
    x.exp()
    assert len(inner.packed) == 1 and len(outer.packed) == 1


def test_disable_with_a_message_forbids_hooks(device):
    x = T([1.0, 2.0], device, grad=True)
    r = Recorder()
    with r.hooks():
        y = (x * x).sum()
    with graph.disable_saved_tensors_hooks("outer says no"):
        with pytest.raises(RuntimeError, match="outer says no"), r.hooks():
            pass
        with pytest.raises(RuntimeError, match="outer says no"), graph.save_on_cpu():
            pass
        inner = graph.disable_saved_tensors_hooks("inner says no")
        with pytest.raises(ZeroDivisionError), inner:
            with pytest.raises(RuntimeError, match="inner says no"), r.hooks():
                pass
            raise ZeroDivisionError
        with pytest.raises(RuntimeError, match="outer says no"), r.hooks():
            pass
        y.backward()  # already packed values can still be unpacked
    assert len(r.unpacked) == 2
    with r.hooks():
        late = graph.disable_saved_tensors_hooks("too late")
        with pytest.raises(RuntimeError, match="too late"), late:
            pass
        x.exp()  # the refused disable changed nothing
    assert len(r.packed) == 3


def test_functional_form_returns_the_result_unmodified(device):
    x = T([1.0, 2.0], device, grad=True)
    r = Recorder()
    result = {"y": None, "n": 3}

    def fn():
        result["y"] = (x * x).sum()
        return result

    out = graph.saved_tensors_hooks(r.pack, r.unpack, fn)
    assert out is result and len(r.packed) == 2
    x.exp()
    assert len(r.packed) == 2
    out["y"].backward()
    close(x.grad, [2.0, 4.0])
    with pytest.raises(KeyError):
        graph.saved_tensors_hooks(r.pack, r.unpack, lambda: {}["missing"])
    x.exp()
    assert len(r.packed) == 2
    assert torch.autograd.saved_tensors_hooks is graph.saved_tensors_hooks


def test_a_deep_stack_of_hooks_unwinds(device):
    x = T([1.0], device, grad=True)
    rs = [Recorder() for _ in range(4)]
    with rs[0].hooks(), rs[1].hooks(), rs[2].hooks():
        x.exp()
        with rs[3].hooks():
            x.exp()
    assert [len(r.packed) for r in rs] == [0, 0, 1, 1]


def test_contexts_left_out_of_order(device):
    x = T([1.0], device, grad=True)
    a, b = Recorder(), Recorder()
    first, second = a.hooks(), b.hooks()
    first.__enter__()
    second.__enter__()
    with pytest.raises(RuntimeError, match="out of order"):
        first.__exit__(None, None, None)
    x.exp()
    assert (len(a.packed), len(b.packed)) == (0, 1)
    second.__exit__(None, None, None)
    x.exp()
    assert len(b.packed) == 1


def test_an_exit_too_many_is_an_error(device):
    x = T([1.0], device, grad=True)
    context = graph.saved_tensors_hooks(same, same)
    with pytest.raises(RuntimeError, match="without having been entered"):
        context.__exit__()
    r = Recorder()
    with r.hooks():
        with pytest.raises(RuntimeError, match="without having been entered"):
            context.__exit__()
        x.exp()
    assert len(r.packed) == 1


def test_entering_and_leaving_inside_unpack(device):
    x = T([1.0, 2.0], device, grad=True)
    outer = Recorder()
    holder = []

    def unpack(t):
        holder[0].__exit__()
        return t

    with outer.hooks():
        holder.append(graph.saved_tensors_hooks(same, unpack))
        holder[0].__enter__()
        x.exp().sum().backward()
        x.exp()
        assert len(outer.packed) == 1, "the inner pair is gone, the outer one is back"
    close(x.grad, np.exp([1.0, 2.0]))
    x.exp()
    assert len(outer.packed) == 1

    late = Recorder()
    with graph.saved_tensors_hooks(same, lambda t: late.hooks().__enter__() or t):
        y = x.exp().sum()
    y.backward()
    x.exp()
    assert len(late.packed) == 1, "entered in a hook, active when the hook is over"
    from wgtorch.autograd.mode import state

    state.stack.clear()
    state.hooks = None


def test_new_threads_start_without_hooks(device):
    x = T([1.0, 2.0], device, grad=True)
    r = Recorder()
    with r.hooks():
        thread = threading.Thread(target=x.exp)
        thread.start()
        thread.join(20)
    assert r.packed == []


@pytest.mark.parametrize("bad", [(1, same), (same, None)])
def test_hooks_must_be_callable(bad):
    with pytest.raises(TypeError, match="must be callable"):
        graph.saved_tensors_hooks(*bad)


def test_contexts_may_be_subclassed(device):
    class Mine(graph.saved_tensors_hooks):
        def __init__(self, log):
            super().__init__(lambda t: log.append("pack") or t, same)

    log = []
    x = T([1.0], device, grad=True)
    with Mine(log) as entered:
        x.exp()
    assert log == ["pack"] and entered is None and Mine([]).unpack_hook is same


def test_composed_hooks(device):
    x = T([1.0, 2.0], device, grad=True)
    log = []

    def pair(name):
        return graph.saved_tensors_hooks(
            lambda t: log.append("pack " + name) or t * 2.0,
            lambda t: log.append("unpack " + name) or t / 2.0,
        )

    with graph.compose_hooks(pair("outer"), pair("inner")):
        y = x.exp()
    y.sum().backward()
    assert log == ["pack inner", "pack outer", "unpack outer", "unpack inner"]
    close(x.grad, np.exp([1.0, 2.0]))


def test_the_functional_form_of_a_coroutine(device):
    """The pair is there while the coroutine runs, not while it waits."""
    x = T([1.0, 2.0], device, grad=True)
    r = Recorder()

    async def model():
        x.exp()
        await asyncio.sleep(0)
        x.exp()
        return "result"

    async def other():
        x.exp()
        return len(r.packed)

    async def both():
        return await asyncio.gather(graph.saved_tensors_hooks(r.pack, r.unpack, model), other())

    assert asyncio.run(both()) == ["result", 1]
    assert len(r.packed) == 2

    async def asleep():
        with r.hooks():
            return await graph.disable_saved_tensors_hooks(model)

    assert asyncio.run(asleep()) == "result" and len(r.packed) == 2


def test_disabled_for_a_function_or_a_block(device):
    x = T([1.0, 2.0], device, grad=True)
    r, inner = Recorder(), Recorder()

    def work():
        x.exp()
        with inner.hooks():
            x.exp()
        return "result"

    with r.hooks():
        assert graph.disable_saved_tensors_hooks(work) == "result"
        with pytest.raises(ZeroDivisionError):
            graph.disable_saved_tensors_hooks(lambda: 1 / 0)
        with graph.disable_saved_tensors_hooks():
            x.exp()
            graph.disable_saved_tensors_hooks(work)
        assert r.packed == [] and len(inner.packed) == 2
        x.exp()
    assert len(r.packed) == 1
    assert graph.disable_saved_tensors_hooks(lambda: 7) == 7
    with pytest.raises(TypeError, match="error message.*function.*nothing"):
        graph.disable_saved_tensors_hooks(7)


def test_disable_decorates(device):
    @graph.disable_saved_tensors_hooks("not in here")
    def work():
        with graph.saved_tensors_hooks(same, same):
            pass

    with pytest.raises(RuntimeError, match="not in here"):
        work()
    with graph.saved_tensors_hooks(same, same):
        pass


def test_hooks_in_a_generator_last_until_it_leaves_them(device):
    x = T([1.0], device, grad=True)
    r = Recorder()

    def steps():
        with r.hooks():
            yield
        yield

    run = steps()
    next(run)
    x.exp()
    assert len(r.packed) == 1, "as with any context manager, the consumer sees it too"
    next(run)
    x.exp()
    assert len(r.packed) == 1


@pytest.mark.parametrize(("context", "signature"), [
    (graph.save_on_cpu, {"pin_memory": False, "device_type": None, "offload_parameters": False,
                         "prefetch": None}),
    (graph.spill_to_disk, {"folder": None, "budget": 256, "limit": None, "prefetch": 2,
                           "min_size": 1024, "offload_parameters": False}),
    (graph.device_budget, {"mib": inspect.Parameter.empty, "then": None, "min_size": 0}),
    (graph.compress, {"kind": "int8", "min_elements": 256, "block": None, "check": None}),
    (graph.disable_saved_tensors_hooks, {"error_message": None}),
])  # fmt: skip
def test_contexts_show_what_they_take(context, signature):
    parameters = inspect.signature(context).parameters
    assert {name: p.default for name, p in parameters.items()} == signature
