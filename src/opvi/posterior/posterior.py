"""The posterior: a target, a family, and how the one was fitted to the other."""

from typing import Any

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
from jaxtyping import PyTree

from opvi._core.errors import OpviError, require
from opvi._core.layout import Layout
from opvi._core.types import Array, Float, Key
from opvi.families import AbstractFamily
from opvi.solver import History, Result, Solution
from opvi.targets import AbstractTarget


class Posterior(eqx.Module):
    """q(z), read under the names and on the supports of the model."""

    target: AbstractTarget
    family: AbstractFamily
    solution: Solution
    key: Key

    def unconstrained(self, key: Key, draws: int) -> Float[Array, "n d"]:
        """Draws of z on the unconstrained scale."""
        require(
            draws >= 1,
            OpviError,
            expected="at least one draw",
            got=f"draws={draws}",
            write="posterior.sample(key, 1000)",
        )
        return _sample(self.family, key, draws)

    def sample(self, key: Key, draws: int = 1000) -> PyTree:
        """Draws of the latents on their own supports: the model's pytree with a leading axis."""
        return _constrain(self.target, self.unconstrained(key, draws))

    def to_datatree(self, key: Key | None = None, draws: int = 1000) -> Any:
        """An ArviZ DataTree: `posterior` (one chain) and `sample_stats` (history of the fit)."""
        from arviz_base import from_dict

        tree = self.sample(jr.fold_in(self.key, 0) if key is None else key, draws)
        layout = Layout.of(jax.tree_util.tree_map(lambda x: x[0], tree))
        leaves = jax.tree_util.tree_leaves(tree)
        latents = {name: np.asarray(x)[None] for name, x in zip(layout.names, leaves, strict=True)}
        stats = {"objective": self.history.objective[None], "skipped": self.history.skipped[None]}
        datatree = from_dict(
            {"posterior": latents},
            dims={name: list(axes) for name, axes in self.target.dims.items()},
            coords={name: list(labels) for name, labels in self.target.coords.items()},
        )
        # One entry a step, not a draw: a group with its own axis.
        steps = from_dict({"sample_stats": stats}, sample_dims=["chain", "step"])
        datatree["sample_stats"] = steps["sample_stats"]
        datatree.attrs.update(
            inference_library="opvi",
            result=self.result.name,
            gradient_evaluations=self.solution.gradient_evaluations,
        )
        return datatree

    @property
    def history(self) -> History:
        return self.solution.history

    @property
    def result(self) -> Result:
        return self.solution.result

    def __repr__(self) -> str:
        skipped = f", {self.solution.skipped} skipped" if self.solution.skipped else ""
        return (
            f"Posterior of {self.target.dim} latents by {type(self.family).__name__}\n"
            f"  {len(self.history.objective)} steps{skipped}, "
            f"{self.solution.gradient_evaluations:,} gradient evaluations, "
            f"{self.solution.seconds:.1f} s\n"
            f"  {self.result.value}"
        )


@eqx.filter_jit
def _sample(family: AbstractFamily, key: Key, draws: int) -> Array:
    return family.sample(key, draws)


@eqx.filter_jit
def _constrain(target: AbstractTarget, z: Array) -> PyTree:
    return jax.vmap(target.constrain)(z)
