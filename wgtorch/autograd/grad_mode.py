"""Where PyTorch has the grad modes."""

from __future__ import annotations

from wgtorch.autograd.mode import enable_grad, inference_mode, no_grad, set_grad_enabled


class set_multithreading_enabled:
    """Accepted, and without effect: the engine runs on the thread that asks."""

    def __init__(self, mode: bool):
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass


__all__ = [
    "enable_grad",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
