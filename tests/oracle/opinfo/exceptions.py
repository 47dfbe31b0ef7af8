"""Exceptions: the samples that wgtorch answers otherwise than torch, each with its reason."""

from __future__ import annotations

from itertools import product

from tests.oracle.opinfo.trial import Tally

# A reason, and under it lines of: ops, devices or *, dtypes, form, the numbers of samples or *.
EXCEPTIONS = """
Which of several equal elements is named is free.
    argsort,sort * bool,float16 value 0
    kthvalue * int64 value 0-4
    mode * int64,bool,float16 value 6
    topk * int64 value 0-6
torch 2.13's gradient for the input is that of other elements: finite differences say ours.
    as_strided_scatter * float32,complex64 grad *
There is no complex32.
    complex * float16 value *
    view_as_complex * float16 value *
The logarithm's branch is the principal one; torch's phases add up and leave it.
    logcumsumexp * complex64 value 1 3-4
torch overflows in float16.
    matrix_exp * float16 value 0-1
A vector without elements has no channels to normalize.
    nn.functional.batch_norm * float32,float16 value 3-4
Distances from one product are exact to the root of float32's precision: torch's product is nearer.
    cdist webgpu float32 value 32
There is no gradient for the first argument, which may be a number; then the second may be, too.
    igamma,igammac * errors error 0-1
Methods are functions here, which no descriptor guards: `Tensor.__radd__(1, x)` is `x + 1`.
    __radd__,__rand__,__rmul__,__ror__,__rxor__,__rdiv__ * errors error 0-1
What is written may be read as well: a result is complete before anything is written.
    cat * errors error 8
    gather * errors error 7
    take * errors error 2
`out` may have any dtype that can hold the result, for every op.
    amax,amin * errors error 5
    aminmax * errors error 3
    complex,multinomial * errors error 2
    gather * errors error 1
PyTorch's words are those of an assertion inside, and of a sum with a negative length.
    narrow_copy * errors error 1 6
"""


def spans(text: str) -> set[int]:
    """`0 3-5` as {0, 3, 4, 5}."""
    ends = [part.partition("-") for part in text.split()]
    return {n for a, _, b in ends for n in range(int(a), int(b or a) + 1)}


def parsed(text: str) -> dict[tuple[str, str, str], dict[str, set[int] | None]]:
    """By op, device and dtype: the samples of each form; None for all."""
    found: dict[tuple[str, str, str], dict[str, set[int] | None]] = {}
    for line in text.splitlines():
        if not line.startswith("    "):
            continue
        ops, devices, dtypes, form, numbers = line.split(None, 4)
        for op, device, dtype in product(
            ops.split(","),
            ("cpu", "webgpu") if devices == "*" else devices.split(","),
            dtypes.split(","),
        ):
            forms = found.setdefault((op, device, dtype), {})
            forms[form] = (forms.get(form) or set()) | spans(numbers) if numbers != "*" else None
    return found


KNOWN = parsed(EXCEPTIONS)


def excepted(tally: Tally) -> set[int]:
    """The samples of those run that are known to be wrong."""
    return {number for number, _ in expected(tally)}


def expected(tally: Tally) -> set[tuple[int, str]]:
    """(sample, form) of what is known to be wrong, of the samples run."""
    forms = KNOWN.get(tally[:3], {})
    return {(number, form) for form, numbers in forms.items() for number in tally.run
            if numbers is None or number in numbers}  # fmt: skip
