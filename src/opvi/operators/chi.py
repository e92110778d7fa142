"""Chi divergences (paper, section 2.3; Dieng et al. 2017)."""

import equinox as eqx

from opvi._core.errors import OpviError, require
from opvi.distances import AbstractDistance, Logarithm
from opvi.operators.ratio import AbstractRatioOperator


class Chi(AbstractRatioOperator):
    """(O f)(z) = (p(x, z) / q(z))^order, with t(a) = log(a) / order:

        t(E_q[O f]) = 1/order log E_q[(p/q)^order] >= log p(x),

    the chi upper bound. With order = 2 it is log p(x) + 1/2 log(1 + chi^2(p || q)), and in general
    log p(x) + (order - 1)/order D_order(p || q): the arguments of the divergence are swapped.

    - It punishes q for being small where p is large: q covers p, and its tails get heavier than p's.
      It is infinite where they cannot: not for heavy-tailed posteriors with a Gaussian q.
    - Subsampling, programs: no, as for every ratio.

    **Biased** with n draws, as log of a mean (see `Logarithm`): too low by
    Var_q[(p/q)^order] / (2 n order E_q[.]^2) + O(1/n^2), so that the estimate is *not* an upper bound.
    The relative variance is that of importance weights to the power `order`, which is large whenever
    q is far from p, and grows exponentially with the dimension: start from a KL fit.
    Gradient: `Reparameterised`.
    """

    order: float = eqx.field(static=True, default=2.0, converter=float)

    def __check_init__(self):
        require(
            1.0 < self.order < float("inf"),
            OpviError,
            expected="an order above 1: E_q[p/q] is p(x) for every q, and below 1 the expectation is "
            "largest at q = p, not smallest",
            got=f"order={self.order}",
            write="Chi(2.0), or Renyi(0.5) for an order below 1",
        )

    @property
    def power(self) -> float:
        return -self.order

    @property
    def distance(self) -> AbstractDistance:
        return Logarithm(self.order)
