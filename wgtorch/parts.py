"""Parts: a tensor's memory seen otherwise: transposed, or one part of each complex number."""

from __future__ import annotations

from typing import Any

from wgtorch.dispatch.doors import DOORS
from wgtorch.ops.complexes import matrix_like
from wgtorch.storage import View


class Parts(View):
    __slots__ = ()

    @property
    def T(self: Any) -> Any:
        return self.permute(tuple(reversed(range(self.ndim))))

    @property
    def mH(self: Any) -> Any:
        return self.transpose(-2, -1).conj() if matrix_like("mH", self) else self.conj()

    @property
    def H(self: Any) -> Any:
        """The conjugate of a matrix, transposed."""
        if self.ndim not in (0, 2):
            raise RuntimeError(
                f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor."
            )
        return self.mH if self.ndim else self.conj()

    @property
    def real(self: Any) -> Any:
        """The real parts: the same memory; of real numbers the tensor itself."""
        return DOORS["real"](self)

    @real.setter
    def real(self: Any, value: Any) -> None:
        self.real.copy_(value)

    @property
    def imag(self: Any) -> Any:
        """The imaginary parts: the same memory."""
        return DOORS["imag"](self)

    @imag.setter
    def imag(self: Any, value: Any) -> None:
        self.imag.copy_(value)

    @property
    def mT(self: Any) -> Any:
        return self.transpose(-2, -1) if matrix_like("mT", self) else self
