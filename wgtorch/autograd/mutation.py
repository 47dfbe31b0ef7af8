"""PyTorch's context for writing into saved tensors. Here every save is a snapshot already."""

from __future__ import annotations

from wgtorch.autograd.mode import state


class MutationContext:
    """What the `with` block is given; PyTorch keeps its clones in one."""

    def clear(self) -> None:
        """Nothing is kept, so nothing goes."""


class allow_mutation_on_saved_tensors:
    """Writing into saved tensors is right without it, too; it cannot be nested.

    As a value it is true, so that code may ask whether the feature is there.
    """

    def __enter__(self) -> MutationContext:
        if state.mutating:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        state.mutating = True
        return MutationContext()

    def __exit__(self, *exception: object) -> None:
        state.mutating = False

    def __bool__(self) -> bool:
        return True
