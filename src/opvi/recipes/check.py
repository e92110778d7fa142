"""`check`: the verdict of the default fit, on any posterior of real numbers."""

import jax.random as jr
import numpy as np

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Key
from opvi.diagnostics import Evidence, judge, look, modes_of, refresh
from opvi.diagnostics.examine import weigh_draws
from opvi.families import AbstractFamily
from opvi.posterior import Posterior, Verdict
from opvi.posterior.evaluate import Evaluator
from opvi.recipes.basins import Search, search
from opvi.recipes.states import has_states
from opvi.solver import Result
from opvi.targets import AbstractTarget


def check(posterior: Posterior, *, key: Key, draws: int = 1500, refreshed: bool = False) -> Verdict:
    """Look at fresh draws of `posterior`, and at where independent starts end; a verdict.

    **Arguments:**

    - `draws`: how many are looked at; each costs one gradient, the starts some thousands.
    - `refreshed`: also move draws by a short Markov chain, and see whether their moments move: the
        most telling check and the most expensive.
    """
    require(
        not has_states(posterior.target),
        IncompatibleError,
        expected="continuous latents: the checks read scores",
        got=f"a {type(posterior.target).__name__}",
        write="opvi.compare(target, [posterior], reference=draws, key=key)",
    )
    z = np.asarray(posterior.unconstrained(jr.fold_in(key, 0), draws), np.float64)
    family = posterior.family if posterior.draws is None else None
    return judge(
        gather(
            posterior.target,
            z,
            jr.fold_in(key, 1),
            family=family,
            refreshed=refreshed,
            result=posterior.result,
        )
    )


def gather(
    target: AbstractTarget,
    z: np.ndarray,
    key: Key,
    *,
    family: AbstractFamily | None = None,
    found: Search | None = None,
    refreshed: bool = False,
    result: Result | None = None,
) -> Evidence:
    """Evidence about draws `z` on the unconstrained scale.

    - `family`: q, if they are its own draws. - `found`: starts that were made before.
    """
    evaluate = Evaluator(target)
    if found is None:
        rng = np.random.default_rng(np.asarray(jr.key_data(jr.fold_in(key, 0))))
        found = search(evaluate, rng)
    log_density, scores = evaluate(z)
    moved = None
    if refreshed:
        moved = refresh(target, z, jr.fold_in(key, 1), steps=10, draws=600, rounds=2)
    return look(
        evaluate,
        z,
        log_density,
        scores,
        jr.fold_in(key, 2),
        weighted=weigh_draws(target, family, z, log_density),
        refreshed=moved,
        seen=modes_of(found.basins, z, growing=found.growing),
        result=result,
        scores_spent=evaluate.evaluations,
    )
