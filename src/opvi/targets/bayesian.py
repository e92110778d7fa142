"""A Bayesian target: prior plus likelihood over data, with minibatches that are unbiased by construction."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import PyTree

from opvi._core.errors import InvalidTargetError, require
from opvi._core.types import Key, Scalar, Vector
from opvi.targets._base import AbstractSubsampledTarget, AbstractTarget
from opvi.targets.discrete import by_states
from opvi.targets.log_density import Latents, check_scalar


class BayesianTarget(AbstractSubsampledTarget):
    """log p(beta) + N/M sum_{i in batch} log p(x_i | beta)  (paper, section 3, data subsampling).

    The full-data log density is the mean of this over all minibatches, exactly.
    """

    log_prior: Callable[[PyTree], Scalar]
    log_likelihood: Callable[[PyTree, PyTree], Scalar]
    data: PyTree
    latents: Latents
    total: int = eqx.field(static=True)
    batch: int = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def log_density(self, z: Vector) -> Scalar:
        latents, log_jacobian = self.latents.constrain(z)
        rows = jax.tree_util.tree_leaves(self.data)[0].shape[0]
        # N/M: rows is N for the full target and M for a minibatch of it.
        likelihood = jax.vmap(lambda row: self.log_likelihood(latents, row))(self.data).sum()
        return self.log_prior(latents) + (self.total / rows) * likelihood + log_jacobian

    def minibatch(self, key: Key) -> "BayesianTarget":
        index = jr.choice(key, self.total, (self.batch,), replace=False)
        return self.rows(index)

    def rows(self, index: Any) -> "BayesianTarget":
        """The target seen through the rows `index` of the data, scaled by N / number of rows."""
        data = jax.tree_util.tree_map(lambda x: x[index], self.data)
        return eqx.tree_at(lambda t: t.data, self, data)

    def constrain(self, z: Vector) -> PyTree:
        return self.latents.constrain(z)[0]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.latents.layout.columns

    @property
    def dims(self) -> Mapping[str, Sequence[str]]:
        return self.latents.dims

    @property
    def coords(self) -> Mapping[str, Sequence[Any]]:
        return self.latents.coords


def from_likelihood(
    log_prior: Callable[[PyTree], Scalar],
    log_likelihood: Callable[[PyTree, PyTree], Scalar],
    data: PyTree,
    like: PyTree,
    *,
    batch_size: int | None = None,
    supports: Mapping[str, Any] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Sequence[Any]] | None = None,
) -> AbstractTarget:
    """A target from a prior and the likelihood of one row of the data.

    **Arguments:**

    - `log_prior`: log p(beta), a function of the constrained latents.
    - `log_likelihood`: `(latents, row) -> log p(row | latents)`, for one row of `data`.
    - `data`: a pytree of arrays that share their first axis, of length N.
    - `batch_size`: rows in a minibatch M; all of them when left out.
    """
    data = jax.tree_util.tree_map(jnp.asarray, data)
    lengths = {x.shape[0] if x.ndim else 0 for x in jax.tree_util.tree_leaves(data)}
    require(
        len(lengths) == 1 and min(lengths) > 0,
        InvalidTargetError,
        expected="arrays in `data` that share the length of their first axis",
        got=f"lengths {sorted(lengths)}",
        write="data=(features, labels)  # features.shape[0] == labels.shape[0]",
    )
    (total,) = lengths
    batch = total if batch_size is None else batch_size
    require(
        1 <= batch <= total,
        InvalidTargetError,
        expected=f"a batch_size between 1 and the {total} rows of `data`",
        got=f"{batch_size}",
        write=f"batch_size={min(256, total)}",
    )
    latents = Latents(like, supports, dims, coords)
    row = jax.tree_util.tree_map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), data)
    check_scalar(
        log_prior,
        latents.structure(),
        what="a log prior",
        write="def log_prior(latents): return jnp.sum(...)",
    )
    check_scalar(
        log_likelihood,
        latents.structure(),
        row,
        what="a log likelihood of one row",
        write="def log_likelihood(latents, row): return ...  # one number for one row",
    )
    target = BayesianTarget(
        log_prior=log_prior,
        log_likelihood=log_likelihood,
        data=data,
        latents=latents,
        total=total,
        batch=batch,
        dim=latents.size,
    )
    return by_states(target, latents.states, subsampled=batch < total)
