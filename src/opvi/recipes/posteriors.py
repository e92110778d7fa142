"""What `fit_many` returns: as many posteriors as there were rows, kept as one stack on the host."""

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from opvi._core.errors import OpviError, require
from opvi._core.types import Array, Key, PyTree
from opvi.families import AbstractFamily
from opvi.posterior import Posterior
from opvi.solver import History, Result, Solution, State
from opvi.targets import AbstractTarget


class Posteriors(eqx.Module):
    """A sequence of `Posterior`s; `sample` and `unconstrained` draw from all of them at once."""

    target: Callable[[Any], AbstractTarget]
    data: PyTree
    states: State
    histories: History
    results: tuple[Result, ...] = eqx.field(static=True)
    keys: Array
    chunk: int = eqx.field(static=True)
    gradient_evaluations: int = eqx.field(static=True)
    """Of one fit."""
    seconds: float = eqx.field(static=True)
    """Of all fits together."""

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, i: int) -> Posterior:
        if not -len(self) <= i < len(self):
            raise IndexError(f"fit {i} of {len(self)}")
        i = i % len(self)
        state = take(self.states, i)
        solution = Solution(
            state=state,
            history=take(self.histories, i),
            result=self.results[i],
            gradient_evaluations=self.gradient_evaluations,
            seconds=self.seconds / len(self),
        )
        return Posterior(self.target(take(self.data, i)), state.family, solution, self.keys[i])

    def __iter__(self) -> Iterator[Posterior]:
        return (self[i] for i in range(len(self)))

    @property
    def families(self) -> AbstractFamily:
        """All fitted families as one pytree with a leading axis."""
        return self.states.family

    @property
    def diverged(self) -> tuple[int, ...]:
        """Which fits diverged: their draws are not of a posterior."""
        return tuple(i for i, r in enumerate(self.results) if r is Result.diverged)

    def unconstrained(self, key: Key, draws: int) -> np.ndarray:
        """`(fits, draws, d)` draws of z; those of fit `i` have the key `fold_in(key, i)`."""
        return self._in_chunks(_draw, key, draws)

    def sample(self, key: Key, draws: int = 1000) -> PyTree:
        """The latents on their own supports: the model's pytree with leading axes (fits, draws)."""
        return self._in_chunks(_draw_constrained, key, draws)

    def _in_chunks(self, draw: Callable[..., PyTree], key: Key, draws: int) -> PyTree:
        require(
            draws >= 1,
            OpviError,
            expected="at least one draw",
            got=f"draws={draws}",
            write="posteriors.sample(key, 1000)",
        )
        parts = []
        for first in range(0, len(self), self.chunk):
            index = np.minimum(np.arange(first, first + self.chunk), len(self) - 1)
            keys = jax.vmap(lambda i: jr.fold_in(key, i))(jnp.asarray(index))
            part = draw(
                self.target, take(self.data, index), take(self.families, index), keys, draws
            )
            real = min(self.chunk, len(self) - first)
            parts.append(jax.tree_util.tree_map(lambda x, n=real: np.asarray(x)[:n], part))
        return jax.tree_util.tree_map(lambda *xs: np.concatenate(xs), *parts)

    def __repr__(self) -> str:
        bad = f", {len(self.diverged)} diverged" if self.diverged else ""
        return (
            f"{len(self)} posteriors by {type(self.families).__name__}{bad}\n"
            f"  {self.histories.objective.shape[1]} steps and {self.gradient_evaluations:,} gradient "
            f"evaluations each, {self.seconds:.1f} s in all"
        )


def rows_of(data: PyTree) -> int:
    """The length of the first axis that all arrays in `data` share."""
    leaves = jax.tree_util.tree_leaves(data)
    lengths = {np.shape(x)[0] if np.ndim(x) else 0 for x in leaves}
    require(
        len(lengths) == 1 and min(lengths) > 0,
        OpviError,
        expected="arrays in `data` that share the length of their first axis, one entry a fit",
        got=f"lengths {sorted(lengths)}",
        write="data=(images, masks)  # images.shape[0] == masks.shape[0]",
    )
    return lengths.pop()


def take(tree: PyTree, index: Any) -> PyTree:
    """Rows `index` of every array; everything else as it is."""
    return jax.tree_util.tree_map(
        lambda x: x[index] if isinstance(x, jax.Array | np.ndarray) else x, tree
    )


@eqx.filter_jit
def _draw(target: Any, rows: PyTree, families: AbstractFamily, keys: Array, draws: int) -> PyTree:
    del target, rows
    return eqx.filter_vmap(lambda family, key: family.sample(key, draws))(families, keys)


@eqx.filter_jit
def _draw_constrained(
    target: Any, rows: PyTree, families: AbstractFamily, keys: Array, draws: int
) -> PyTree:
    def one(row, family, key):
        return jax.vmap(target(row).constrain)(family.sample(key, draws))

    return eqx.filter_vmap(one)(rows, families, keys)
