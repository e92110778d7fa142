"""Inclusive KL, KL(p || q) (paper, related work), by self-normalised importance weights."""

from opvi.distances import AbstractDistance, SelfNormalised
from opvi.operators.ratio import AbstractRatioOperator


class InclusiveKL(AbstractRatioOperator):
    """(O f)(z) = r(z) = p(x, z) / q(z), with t = `SelfNormalised`:

        E_q[r log r] / E_q[r] - log E_q[r] = E_p[log p(z | x) - log q(z)] = KL(p || q).

    The paper counts it among the objectives that need a further approximation to be tractable, as
    E_p is no expectation under q. The approximation is self-normalisation: the unknown p(x) cancels
    and the value is the divergence itself, without a constant. It is the limit of
    D_alpha(q || p) / alpha for alpha -> 0 (`Renyi`).

    - With a Gaussian q the optimum matches the mean and the covariance of p.
    - Subsampling, programs: no, as for every ratio.

    **Biased** with n draws, by O(1/n) for a finite Var_q(p/q): both value and gradient. The estimate
    is at most log n. Where q misses a mode of p no draw says so: start wide, or anneal.
    Gradient: `Reparameterised`. With w_i the normalised weights and h = log r it is
    sum_i w_i (h_i - sum_j w_j h_j) dh_i, which is zero draw by draw at q = p.
    """

    @property
    def power(self) -> float:
        return -1.0

    @property
    def distance(self) -> AbstractDistance:
        return SelfNormalised()
