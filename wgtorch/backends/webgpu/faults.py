"""What wgpu reports where no exception could be raised: errors of recorded work, a lost device.

wgpu-py logs such reports. They are collected here, and raised at the next submit or wait.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from wgtorch.errors import DeviceLostError


class Faults(logging.Handler):
    """The reports of all devices of this process that nobody has raised yet."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.reports: list[str] = []
        logging.getLogger("wgpu").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.reports.append(record.getMessage())

    def take(self) -> str:
        text = "\n".join(self.reports)
        self.reports.clear()
        return text


faults = Faults()


def is_loss(report: str) -> bool:
    return "device is lost" in report.lower() or "device was lost" in report.lower()


def exception(report: str, abandon: Callable[[], None]) -> Exception:
    """What a report is raised as; a lost device is abandoned, so that a new tensor opens one."""
    if not is_loss(report):
        return RuntimeError(f"webgpu: {report}")
    abandon()
    faults.reports.clear()
    return DeviceLostError(
        "the webgpu device was lost, and with it the data of its tensors; make new ones, which"
        f" opens a new device ({report.strip().splitlines()[-1].strip()})"
    )
