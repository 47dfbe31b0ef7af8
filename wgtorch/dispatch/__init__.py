"""The one door between the op a user calls and the code that runs it: place, run, record."""

from wgtorch.dispatch.doors import DOORS, FACES, PUBLIC, cast, open_doors
from wgtorch.dispatch.write import write

__all__ = ["DOORS", "FACES", "PUBLIC", "cast", "open_doors", "write"]
