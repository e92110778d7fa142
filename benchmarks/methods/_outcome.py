"""What a method hands back: draws under the names of the model, and what they cost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax

from benchmarks.posteriors import Posterior


@dataclass(frozen=True)
class Outcome:
    """`sites`: constrained draws, leading axis the draws (chain after chain for MCMC).

    A gradient evaluation is one gradient of the log density at one point. `density_evaluations` are
    further evaluations of the log density without a gradient, where a method makes many of them.
    """

    sites: Mapping[str, Any]
    gradient_evaluations: int
    density_evaluations: int = 0
    verdict: str | None = None
    reasons: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)


Method = Callable[[Posterior, jax.Array, int], Outcome]
