"""Mixed precision: `autocast` has matrix products computed in halves, `GradScaler` guards them."""

from wgtorch.amp.autocast_mode import autocast, is_autocast_available
from wgtorch.amp.custom import custom_bwd, custom_fwd
from wgtorch.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
