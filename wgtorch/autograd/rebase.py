"""Rebasing: a tensor that was written in place takes over the past of what was written."""

from __future__ import annotations

from typing import Any

from wgtorch.autograd.nodes import CopyBackwards, CopySlices, FillBackward0, refresh


def rebase(target: Any, source: Any, fresh: bool = False) -> None:
    """Records that `source` was written into all of `target`, which may be a view.

    `fresh` says that nobody else holds `source`: its past then becomes the target's own, else a
    node is put between. Called after the write, with the tensors as they were but for the data.
    """
    base = target._base
    if source.storage.writes:
        refresh(source)
    if base is None:
        own(target, source, fresh)
        target.storage.writes += 1
        return
    if base.storage.writes:
        refresh(target)
    if base._wants or source._wants:
        base.past, base.output_nr, base._wants = CopySlices(base, target, source), 0, True
        if source.past is not None:
            source.past.disown(target.storage)
        target.storage.writes += 1
        target._seen = -1  # its past is read off the base from now on


def own(target: Any, source: Any, fresh: bool) -> None:
    """`target` is no view: all it was is gone."""
    if source._wants:
        if fresh and source.past is not None and not source.output_nr:
            source.past.disown(target.storage)
            target.past = source.past
        else:
            target.past = CopyBackwards(target, source)
    elif target._wants:
        target.past = FillBackward0(target)
    else:
        return
    target._wants, target.output_nr = True, 0
