"""Trial: one sample in every form that the op has, and the samples of one op counted."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.testing._internal.opinfo.core import OpInfo

import wgtorch
from tests.oracle.opinfo.counterparts import OPS, counterpart, of_testing, rebound
from tests.oracle.opinfo.crossing import Crossing, fresh, over, strided, tensors
from tests.oracle.opinfo.judge import WIDE, Judge, tuple_of

DTYPES = ("float32", "int64", "bool", "complex64", "float16")
DEVICES = ("cpu", "webgpu")
DOUBLE = (torch.float64, torch.complex128)
SIGNS = re.compile(r"svd|eig|qr$|pinv:singular")  # vectors whose sign or phase is free


class Wrong(NamedTuple):
    sample: int
    form: str  # value, method, inplace, out, grad, error
    why: str


class Tally(NamedTuple):
    op: str
    device: str
    dtype: str  # or "errors"
    run: list[int]  # the samples' numbers
    wrong: list[Wrong]


class Trial:
    """One sample, called in every form the op has."""

    def __init__(self, op: OpInfo, device: str, sample: Any, judge: Judge, grad: bool):
        self.op, self.device, self.sample, self.judge, self.grad = op, device, sample, judge, grad
        self.args = (sample.input, *sample.args)
        self.here, self.there = counterpart(op.op, op.name), rebound(op.op, torch)

    def detached(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return over(self.args, torch.Tensor.detach), over(self.sample.kwargs, torch.Tensor.detach)

    def wrong(self) -> Iterator[tuple[str, str]] | None:
        """(form, complaint) of all that is wrong; None where torch refuses the sample, or the
        device has no such dtype."""
        self.theirs, self.named = self.detached()
        draws = 8 if is_seeded(self.op.op) else 2
        try:
            want, *again = [self.there_once(seed) for seed in range(draws)]
        except Exception:
            return None
        if self.device == "webgpu" and any(
            t.dtype in DOUBLE for t in tensors((self.theirs, self.named, want))
        ):
            return None
        self.want = want
        self.loose = self.judge.unset or any([differ(want, other) for other in again])
        wgtorch.manual_seed(0)
        return self.each()

    def there_once(self, seed_: int) -> Any:
        torch.manual_seed(seed_)
        return self.there(*fresh(self.theirs), **fresh(self.named))

    def each(self) -> Iterator[tuple[str, str]]:
        forms: list[tuple[str, Callable[[], str]]] = [("value", self.value)]
        if callable(self.op.method_variant):
            forms.append(("method", self.method))
        if self.op.inplace_variant is not None and not self.sample.broadcasts_input:
            forms.append(("inplace", self.inplace))
        if self.op.supports_out and all(isinstance(w, torch.Tensor) for w in tuple_of(self.want)):
            forms.append(("out", self.out))
        if self.grad and not self.loose:
            forms.append(("grad", self.gradient))
        for form, ask in forms:
            if said := raised(ask):
                yield form, said
                if form == "value" and not said.startswith(("float", "complex")):
                    return

    def exact(self, call: Callable) -> Callable[[], Any]:
        def widened(value: Any) -> Any:
            return over(value, lambda t: t.to(WIDE.get(t.dtype, t.dtype)))

        def answer() -> Any:
            torch.set_default_dtype(torch.float64)
            try:
                return call(*widened(self.theirs), **widened(self.named))
            except Exception:
                return ()
            finally:
                torch.set_default_dtype(torch.float32)

        return answer

    def ask(self, call: Callable) -> str:
        cross = Crossing(self.device)
        return self.judged(call(*cross(self.theirs), **cross(self.named)))

    def judged(self, got: Any) -> str:
        """The complaint about a result; of vectors with a free sign, about what is left of them."""
        want, exact = self.want, self.exact(self.there)
        if not SIGNS.search(self.op.name):
            return self.judge.complaint(got, want, exact, self.loose)
        only = self.sample.output_process_fn_grad
        exact = self.exact(lambda *args, **kwargs: only(self.there(*args, **kwargs)))
        return self.judge.complaint(got, want, None, True) or self.judge.complaint(
            rebound(only)(got), only(want), exact, False
        )

    def value(self) -> str:
        return self.ask(self.here)

    def method(self) -> str:
        variant = self.op.method_variant
        call = rebound(variant)
        if call is variant:
            call = getattr(wgtorch.Tensor, variant.__name__, None)
            if call is None:
                return f"no Tensor.{variant.__name__}"
        return self.ask(call)

    def inplace(self) -> str:
        variant = self.op.inplace_variant
        theirs = fresh(self.theirs)
        try:
            want = variant(*theirs, **self.named)
        except Exception:
            return ""
        call = rebound(variant)
        if isinstance(variant, partial):
            call = partial(self.here, **variant.keywords)
        elif call is variant:
            call = getattr(wgtorch.Tensor, variant.__name__, None)
            if call is None:
                return f"no Tensor.{variant.__name__}"
        cross = Crossing(self.device)
        args = cross(self.theirs)
        got = call(*args, **cross(self.named))
        if got is not args[0]:
            return "does not return the tensor it wrote"
        return self.judge.complaint(got, want, self.exact(self.there), self.loose)

    def out(self) -> str:
        want = tuple_of(self.want)
        try:
            into = tuple(torch.empty_like(w) for w in want)
            theirs = fresh(self.theirs)
            there = self.there(*theirs, **self.named, out=into if len(into) > 1 else into[0])
        except Exception:
            return ""
        cross = Crossing(self.device)
        made = tuple(wgtorch.zeros(tuple(w.shape), dtype=cross(w.dtype), device=self.device)
                     for w in want)  # fmt: skip
        got = self.here(*cross(self.theirs), **cross(self.named),
                        out=made if len(made) > 1 else made[0])  # fmt: skip
        if there is None:
            return self.judged(made) if got is None else "returns what torch does not"
        if not all(g is m for g, m in zip(tuple_of(got), made, strict=True)):
            return "does not return out"
        return self.judged(got)

    def gradient(self) -> str:
        want = self.gradients_there(lambda t: t)
        if not want:
            return ""
        cross = Crossing(self.device, grad=True)
        args, kwargs = cross(self.args), cross(self.sample.kwargs)
        wrapper = self.op.gradcheck_wrapper
        plain = "masked" in wrapper.__name__  # it asks torch.masked for private parts
        result = (
            self.here(*args, **kwargs) if plain else rebound(wrapper)(self.here, *args, **kwargs)
        )
        result = rebound(self.sample.output_process_fn_grad)(result)
        leaves = [here for there, here in cross.leaves]
        outs = [r for r in tensors(result, wgtorch.Tensor) if r.requires_grad]
        if not outs:
            return "no gradient"
        got = wgtorch.autograd.grad(outs, leaves, [weights(o, wgtorch) for o in outs],
                                    allow_unused=True)  # fmt: skip
        got = [wgtorch.zeros_like(x) if g is None else g for g, x in zip(got, leaves, strict=True)]

        def exact() -> Any:
            return self.gradients_there(lambda t: t.to(WIDE.get(t.dtype, t.dtype)))

        return self.judge.complaint(tuple(got), want, exact, False)

    def gradients_there(self, change: Callable) -> tuple[torch.Tensor, ...]:
        """torch's, in the order in which Crossing meets the leaves; () where it has none."""
        known: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

        def leaf(t: torch.Tensor) -> torch.Tensor:
            if id(t) not in known:
                known[id(t)] = (t, change(t.detach()).clone().requires_grad_(t.requires_grad)
                                if t.requires_grad else change(t.detach()))  # fmt: skip
            return known[id(t)][1]

        args, kwargs = over(self.args, leaf), over(self.sample.kwargs, leaf)
        try:
            wrapper = self.op.gradcheck_wrapper
            plain = "masked" in wrapper.__name__
            result = self.there(*args, **kwargs) if plain else wrapper(self.there, *args, **kwargs)
            result = self.sample.output_process_fn_grad(result)
            outs = [r for r in tensors(result) if r.requires_grad]
            leaves = [made for old, made in known.values() if old.requires_grad]
            found = torch.autograd.grad(outs, leaves, [weights(o, torch) for o in outs],
                                        allow_unused=True)  # fmt: skip
        except Exception:
            return ()
        return tuple(torch.zeros_like(x) if g is None else g
                     for g, x in zip(found, leaves, strict=True))  # fmt: skip


def is_seeded(call: Any) -> bool:
    """Whether torch's tests fix the seed of a call."""
    return of_testing(call) and "wrapper_set_seed" in call.__code__.co_names


def differ(one: Any, other: Any) -> bool:
    """Whether the same call gave other numbers: it is random."""
    pairs = zip(tensors(one), tensors(other), strict=True)
    return any([not torch.equal(parts(a), parts(b)) for a, b in pairs if not a.isnan().any()])


def parts(tensor: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs, which torch can compare in all precisions."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def weights(out: Any, library: Any) -> Any:
    """A gradient to send back through a result: the same numbers in both libraries."""
    numbers = np.cos(1 + 1.7 * np.arange(out.numel())).reshape(tuple(out.shape))
    numbers = numbers * (1 - 0.7j) if out.dtype.is_complex else numbers
    return library.tensor(numbers, dtype=out.dtype, device=out.device)


def raised(ask: Callable[[], str]) -> str:
    try:
        return ask()
    except Exception as error:
        return said(error)[:300]


def seed() -> None:
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)


def spread(items: list[Any], cap: int | None) -> list[tuple[int, Any]]:
    """All, numbered; or `cap` of them, from the first to the last."""
    if cap is None or len(items) <= cap:
        return list(enumerate(items))
    places = [round(i * (len(items) - 1) / (cap - 1)) for i in range(cap)] if cap > 1 else [0]
    return [(place, items[place]) for place in places]


def samples(op: OpInfo, dtype: torch.dtype, cap: int | None) -> list[tuple[int, Any]]:
    seed()
    grad = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    found = op.sample_inputs("cpu", dtype, requires_grad=grad)
    found = [s for s in found if strided((s.input, s.args, s.kwargs))]
    return spread(found, cap)


def trial(name: str, device: str, dtype_name: str, cap: int | None = None) -> Tally | None:
    """Runs the samples of an op; None where torch's op has no such dtype."""
    op, dtype = OPS[name], getattr(torch, dtype_name)
    if not op.supports_dtype(dtype, "cpu"):
        return None
    judge, run, wrong = Judge(op), [], []
    grad = dtype in (torch.float32, torch.complex64) and op.supports_autograd
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, sample in samples(op, dtype, cap):
            found = Trial(op, device, sample, judge, grad).wrong()
            if found is not None:
                run.append(number)
                wrong += [Wrong(number, form, why) for form, why in found]
    return Tally(name, device, dtype_name, run, wrong)


def first_line(error: Exception) -> str:
    return str(error).split("\n")[0]


def said(error: Exception) -> str:
    return f"{type(error).__name__}: {first_line(error)}"


def unlike(got: Exception, want: Exception, error: Any) -> str:
    """Of another type than torch's error, or another text."""
    if not isinstance(got, type(want) | error.error_type):
        return f"{said(got)}, not {said(want)}"
    if first_line(got) == first_line(want) or re.search(error.error_regex, str(got)):
        return ""
    return f"says {first_line(got)}, not {first_line(want)}"


def refusals(name: str, device: str) -> Tally | None:
    """Runs the inputs that torch refuses."""
    op = OPS[name]
    if op.error_inputs_func is None:
        return None
    here, run, wrong = counterpart(op.op, op.name), [], []
    seed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, error in enumerate(op.error_inputs("cpu")):
            sample = error.sample_input
            if not strided((sample.input, sample.args, sample.kwargs)):
                continue
            try:
                rebound(op.op, torch)(sample.input, *sample.args, **sample.kwargs)
                continue  # what only other devices refuse
            except Exception as refusal:
                want = refusal
            cross = Crossing(device)
            try:
                args, named = cross((sample.input, *sample.args)), cross(sample.kwargs)
            except (ValueError, TypeError, MemoryError, wgtorch.OutOfMemoryError):
                continue  # more dims than numpy has, float64 on a device without it, or too large
            run.append(number)
            try:
                here(*args, **named)
                if device == "webgpu":
                    wgtorch.webgpu.synchronize()
                why = f"no {said(want)}"
            except Exception as got:
                why = unlike(got, want, error)
            if why:
                wrong.append(Wrong(number, "error", why[:300]))
    return Tally(name, device, "errors", run, wrong)


def tallied(task: tuple[str, str, tuple[str, ...], int | None]) -> list[Tally]:
    """All of what `python -m tests.oracle.opinfo` asks a process for at once."""
    name, device, dtypes, cap = task
    found = [refusals(name, device) if d == "errors" else trial(name, device, d, cap)
             for d in dtypes]  # fmt: skip
    return [tally for tally in found if tally is not None]
