"""Distances of operators that are ratios of densities, known through their logarithms.

An expectation of a ratio spans hundreds of orders of magnitude and is known up to a factor only. Its
logarithm is known up to a constant, so t is a logarithm and everything here stays in log space: the
values h that come in are log (O f)(z), and log E_q[O f] is a log-mean-exp.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp

from opvi._core.errors import OpviError, require
from opvi._core.types import Array, Float, Scalar
from opvi.distances._base import AbstractDistance


def log_mean_exp(h: Float[Array, " n"], weights: Float[Array, " n"] | None = None) -> Scalar:
    """log 1/n sum_i weight_i exp(h_i)."""
    return logsumexp(h, b=weights) - math.log(h.shape[0])


class Logarithm(AbstractDistance):
    """t(a) = log(a) / scale, of a positive expectation a = E_q[exp(h)].

    Not negative where it is used: by Jensen E_q[(q/p)^s] = E_p[(q/p)^(1 + s)] >= 1 for s > 0 and for
    s < -1, <= 1 in between, and `scale` has the sign that goes with it.

    **There is no unbiased paired form.** An average over n draws is an unbiased estimate of a
    polynomial in a of degree n at most, and a logarithm is not one. One set is used, and with
    X = exp(h)

        E[log mean_n X] = log E X - Var(X) / (2 n (E X)^2) + O(1/n^2):

    the estimate is too low by Var(X) / (2 n scale (E X)^2) (too high for scale < 0), the gradient is
    biased by the gradient of that, and both fall as 1/n. Take as many draws as you can.
    """

    scale: float = eqx.field(static=True, converter=float)
    sets: int = eqx.field(static=True, default=1, init=False)

    def __check_init__(self):
        require(
            self.scale != 0.0,
            OpviError,
            expected="a scale other than 0 in log(a) / scale",
            got="scale=0",
            write="Identity(): the limit for scale -> 0 of log E[exp(scale h)] / scale is E[h]",
        )

    def __call__(self, a: Scalar) -> Scalar:
        return jnp.log(a) / self.scale

    def pool(self, values: Float[Array, " n"], weights: Float[Array, " n"] | None = None) -> Scalar:
        return log_mean_exp(values, weights)

    def paired(self, *means: Scalar) -> Scalar:
        (log_a,) = means
        return log_a / self.scale


class SelfNormalised(AbstractDistance):
    """E_q[r log r] / E_q[r] - log E_q[r], with r = exp(h) = p/q up to a factor: KL(p || q).

    With the self-normalised weights w_i = r_i / sum_j r_j it is sum_i w_i h_i - log mean_j r_j, in
    which the factor cancels. It is the derivative at s = 1 of log E_q[r^s], less its value, hence a
    limit of `Logarithm` distances rather than a function of one expectation.

    **There is no unbiased paired form**, as for every ratio of expectations: the bias falls as 1/n,
    with a constant Var_q(r) / E_q[r]^2 that is infinite where q has lighter tails than p. The largest
    estimate n draws can give is log n: KL(p || q) beyond that cannot be seen.
    """

    sets: int = eqx.field(static=True, default=1, init=False)

    def __call__(self, a: Scalar) -> Scalar:
        """For a ratio r that takes the one value a: a log a / a - log a = 0."""
        return jnp.zeros_like(a)

    def pool(self, values: Float[Array, " n"], weights: Float[Array, " n"] | None = None) -> Scalar:
        log_w = values if weights is None else values + jnp.log(weights)
        return jnp.sum(jax.nn.softmax(log_w) * values) - log_mean_exp(values, weights)

    def paired(self, *means: Scalar) -> Scalar:
        (divergence,) = means
        return divergence
