"""Renyi divergences (paper, section 2.3; Li and Turner 2016)."""

import equinox as eqx

from opvi._core.errors import OpviError, require
from opvi.distances import AbstractDistance, Logarithm
from opvi.operators.ratio import AbstractRatioOperator


class Renyi(AbstractRatioOperator):
    """(O f)(z) = (q(z) / p(x, z))^(alpha - 1), with t(a) = log(a) / (alpha - 1):

        t(E_q[O f]) = 1 / (alpha - 1) log E_q[(q/p)^(alpha - 1)] = D_alpha(q || p) - log p(x).

    Minus this is the variational Renyi bound, <= log p(x) for alpha > 0, as the ELBO is.

    - alpha -> 1 is KL(q || p): log E[exp(s w)] / s = E[w] + s Var(w) / 2 + ..., w = log q - log p.
    - alpha > 1 punishes q for mass where p has none even more than KL: narrower, safe tails of p.
    - 0 < alpha < 1 is milder and covers more: D_alpha / alpha -> KL(p || q) for alpha -> 0.

    **Biased** with n draws, as log of a mean: see `Logarithm`. By Jensen D_alpha comes out too high for
    alpha < 1 (so the bound on log p(x) stays a bound, tighter with n) and too low for alpha > 1
    (there it does not). The bias is Var_q[(q/p)^(alpha - 1)] / (2 n |alpha - 1| E_q[.]^2) + O(1/n^2);
    for alpha > 1 the variance can be infinite where q has heavier tails than p.
    Gradient: `Reparameterised`.
    """

    alpha: float = eqx.field(static=True, converter=float)

    def __check_init__(self):
        require(
            self.alpha != 1.0,
            OpviError,
            expected="an alpha other than 1: log(a) / (alpha - 1) is not defined there, and its limit "
            "is KL",
            got="alpha=1",
            write="Objective(KL())",
        )
        require(
            0.0 < self.alpha < float("inf"),
            OpviError,
            expected="0 < alpha < inf: at 0 and below it is not a divergence of q from p (D_0 = 0 for "
            "every q with the support of p)",
            got=f"alpha={self.alpha}",
            write="Renyi(0.5), or InclusiveKL() for what alpha -> 0 tends to",
        )

    @property
    def power(self) -> float:
        return self.alpha - 1.0

    @property
    def distance(self) -> AbstractDistance:
        return Logarithm(self.alpha - 1.0)
