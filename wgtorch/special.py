"""torch.special: functions that books tabulate, under the names that scipy has for most of them.

Its ops stand in wgtorch/ops: here they are only gathered.
"""

from __future__ import annotations

from wgtorch.dispatch.doors import PUBLIC

_OWN = (
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "entr", "erfcx",
    "hermite_polynomial_h", "hermite_polynomial_he", "i0e", "i1", "i1e", "laguerre_polynomial_l",
    "legendre_polynomial_p", "log_ndtr", "modified_bessel_k0", "modified_bessel_k1", "ndtr",
    "ndtri", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "spherical_bessel_j0",
    "zeta",
)  # fmt: skip
_SHARED = {
    "digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2",
    "expit": "sigmoid", "expm1": "expm1", "gammainc": "igamma", "gammaincc": "igammac",
    "gammaln": "lgamma", "i0": "i0", "log1p": "log1p", "log_softmax": "log_softmax",
    "logit": "logit", "logsumexp": "logsumexp", "modified_bessel_i0": "i0",
    "modified_bessel_i1": "_i1", "multigammaln": "mvlgamma", "polygamma": "polygamma",
    "psi": "digamma", "round": "round", "sinc": "sinc", "softmax": "softmax",
    "xlog1py": "xlog1py", "xlogy": "xlogy",
}  # fmt: skip

__all__ = sorted([*_OWN, *_SHARED])

globals().update({name: PUBLIC["_" + name] for name in _OWN})
globals().update({name: PUBLIC[op] for name, op in _SHARED.items()})
