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
from opvi.posterior.draws import AbstractDraws, Direct
from opvi.posterior.stages import Stage, StagedSolution
from opvi.posterior.verdict import Verdict
from opvi.solver import History, Result, Solution
from opvi.targets import AbstractTarget


class Posterior(eqx.Module):
    """q(z), read under the names and on the supports of the model.

    - `draws`: where draws come from; the family itself when left out. The default fit may correct
        the draws of the family by what the target says about them: `uncorrected` is without that.
    - `verdict`: whether the fit is good, and why; None where nobody looked.
    """

    target: AbstractTarget
    family: AbstractFamily
    solution: Solution | StagedSolution
    key: Key
    draws: AbstractDraws | None = None
    verdict: Verdict | None = None

    @property
    def uncorrected(self) -> "Posterior":
        """The same with draws of the family as they are. The verdict was about the others: gone."""
        return Posterior(self.target, self.family, self.solution, self.key)

    def unconstrained(self, key: Key, draws: int) -> Float[Array, "n d"]:
        """Draws of z on the unconstrained scale."""
        require(
            draws >= 1,
            OpviError,
            expected="at least one draw",
            got=f"draws={draws}",
            write="posterior.sample(key, 1000)",
        )
        source = Direct(family=self.family) if self.draws is None else self.draws
        return source.sample(self.target, key, draws)

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

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What was tried, in order, and why the next thing was; () after a single run."""
        return self.solution.stages if isinstance(self.solution, StagedSolution) else ()

    @property
    def gradient_evaluations(self) -> int:
        """What the fit cost, checks included. Draws cost `evaluations_per_draw` more, each."""
        return self.solution.gradient_evaluations

    @property
    def evaluations_per_draw(self) -> float:
        """Evaluations of the log density for each draw of `sample`: 0 where draws are the family's."""
        return 0.0 if self.draws is None else self.draws.evaluations_per_draw

    def __repr__(self) -> str:
        skipped = f", {self.solution.skipped} skipped" if self.solution.skipped else ""
        lines = [
            f"Posterior of {self.target.dim} latents by {type(self.family).__name__}",
            f"  {len(self.history.objective)} steps{skipped}, "
            f"{self.gradient_evaluations:,} gradient evaluations, "
            f"{self.solution.seconds:.1f} s",
            f"  {self.result.value}",
        ]
        lines += [f"  {stage!r}" for stage in self.stages]
        if self.draws is not None and self.evaluations_per_draw > 0:
            kind = type(self.draws).__name__.lower()
            lines.append(f"  Draws are {kind}: {self.evaluations_per_draw:.1f} evaluations each.")
        if self.verdict is not None:
            lines.append(repr(self.verdict))
        return "\n".join(lines)


@eqx.filter_jit
def _constrain(target: AbstractTarget, z: Array) -> PyTree:
    return jax.vmap(target.constrain)(z)
