"""torch.special: functions that books tabulate, under the names that scipy has for most of them.

Its ops stand in wgtorch/ops: here they are only gathered.
"""

from __future__ import annotations

from wgtorch.dispatch.doors import PUBLIC

_OWN = ("entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri", "zeta")
_SHARED = {
    "digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2",
    "expit": "sigmoid", "expm1": "expm1", "gammaln": "lgamma", "i0": "i0", "log1p": "log1p",
    "log_softmax": "log_softmax", "logit": "logit", "logsumexp": "logsumexp",
    "multigammaln": "mvlgamma", "polygamma": "polygamma", "psi": "digamma", "round": "round",
    "sinc": "sinc", "softmax": "softmax", "xlog1py": "xlog1py", "xlogy": "xlogy",
}  # fmt: skip

__all__ = sorted([*_OWN, *_SHARED])

globals().update({name: PUBLIC["_" + name] for name in _OWN})
globals().update({name: PUBLIC[op] for name, op in _SHARED.items()})
