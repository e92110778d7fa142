"""`fit`: a target in, a posterior out."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax

from opvi._core.errors import IncompatibleError, InvalidTargetError, OpviError, require
from opvi._core.types import Array, Key, Scalar
from opvi.estimators import AbstractEstimator
from opvi.families import AbstractFamily, FullRank, SemiImplicitProgram
from opvi.objective import Objective
from opvi.operators import AbstractDivergenceOperator
from opvi.posterior import Posterior
from opvi.recipes.defaults import (
    FamilyOrMaker,
    default_estimator,
    default_objective,
    default_optimisers,
    default_rate,
    make_family,
)
from opvi.recipes.pipeline import default_fit
from opvi.recipes.states import (
    has_states,
    make_family_of_states,
    temperature_of_states,
)
from opvi.solver import AbstractProgress, MinMax, NoProgress, RichProgress, State, solve
from opvi.targets import AbstractDiscreteTarget, AbstractMixedTarget, AbstractTarget
from opvi.testfunctions import VanishingTestFunction

STEPS, CRITIC_STEPS = 5000, 5


def fit(
    target: AbstractTarget,
    family: FamilyOrMaker | None = None,
    objective: Objective | None = None,
    *,
    key: Key,
    steps: int | None = None,
    estimator: AbstractEstimator | None = None,
    learning_rate: float | None = None,
    optimiser: optax.GradientTransformation | None = None,
    test_function_optimiser: optax.GradientTransformation | None = None,
    critic_steps: int | None = None,
    share_draws: bool = False,
    temperature: Callable[[Array], Scalar] | None = None,
    state: State | None = None,
    progress: bool | AbstractProgress = True,
    callback: Callable[..., Any] | None = None,
) -> Posterior:
    """Fit `target`, by the default stages or by one run of the pieces that are given.

    With nothing but a target and a key, the stages of `default_fit`: starts, closed-form Gaussians,
    importance sampling, checks; each as far as it is needed, and a verdict at the end. With any
    other piece, one min-max run of it, and the defaults below for those that are left out.

    **Arguments:**

    - `target`: `from_log_density`, `from_likelihood`, ... .
    - `family`: a family, or something that makes one from `(dim, key=key)`, such as a family class
        or `functools.partial(SemiImplicitProgram, width=128)`.
    - `objective`: the triple. KL for a family with a density, Langevin-Stein over the L2 ball for
        a program, when left out.
    - `steps`: outer steps, 5,000 when left out. With `state`, the length of the whole run, of which
        the state is a part.
    - `estimator`: by default the path gradient for KL, the functional gradient for Langevin-Stein
        over an L2 ball, and the reparameterisation gradient otherwise.
    - `learning_rate`: of the default optimisers (Adam, clipped, cosine decay) on both sides.
    - `temperature`: inverse temperature of the target by the step; `linear_annealing(steps)` for
        KL with real numbers and states, 1 otherwise. `lambda step: 1.0` is none.
    - `state`: continue the run that ended in this state: the same numbers as one long run.
    - `critic_steps`: updates of the test function per step of q, 5 when left out.
    - `progress`: a bar on standard error; False for none.

    **Returns:** a `Posterior`. `posterior.result` says how the run ended.
    """
    require(
        isinstance(target, AbstractTarget),
        InvalidTargetError,
        expected="a target",
        got=f"a {type(target).__name__}",
        write="opvi.fit(opvi.from_log_density(fn, like), key=key)",
    )
    chosen = (family, objective, steps, estimator, learning_rate, optimiser, critic_steps)
    chosen += (test_function_optimiser, temperature, state, callback)
    if all(piece is None for piece in chosen) and not (share_draws or has_states(target)):
        return default_fit(target, key)
    steps = STEPS if steps is None else steps
    critic_steps = CRITIC_STEPS if critic_steps is None else critic_steps
    require(
        steps >= 1,
        OpviError,
        expected="at least one step",
        got=f"steps={steps}",
        write="opvi.fit(target, key=key, steps=5000)",
    )
    family_key, solver_key, check_key = (jr.fold_in(key, i) for i in range(3))
    family = starting_family(family, objective, target, family_key)
    objective = default_objective(family) if objective is None else objective
    estimator = default_estimator(objective, family) if estimator is None else estimator
    rate = default_rate(objective) if learning_rate is None else learning_rate
    of_q, of_f = default_optimisers(rate, steps, critic_steps)
    if temperature is None:
        temperature = temperature_of_states(target, objective, steps)
    solver = MinMax(
        target,
        objective,
        estimator,
        of_q if optimiser is None else optimiser,
        of_f if test_function_optimiser is None else test_function_optimiser,
        critic_steps,
        share_draws,
        temperature,
    )
    if state is None:
        state = solver.init(family, key=solver_key)
        check_start(target, family, check_key)
        check_inside(objective, family, check_key)
    solution = solve(
        solver, state, steps=steps, progress=make_progress(progress), callback=callback
    )
    return Posterior(target, solution.family, solution, jr.fold_in(key, 3))


def make_progress(progress: bool | AbstractProgress) -> AbstractProgress:
    if isinstance(progress, AbstractProgress):
        return progress
    return RichProgress() if progress else NoProgress()


def starting_family(
    family: FamilyOrMaker | None, objective: Objective | None, target: AbstractTarget, key: Key
) -> AbstractFamily:
    """The family itself, what its maker makes of the target's dimension, or the default one."""
    if isinstance(family, AbstractFamily):
        return family
    if isinstance(target, AbstractDiscreteTarget | AbstractMixedTarget):
        return make_family_of_states(family, target, key)
    if family is None:
        kl = objective is not None and isinstance(objective.operator, AbstractDivergenceOperator)
        family = FullRank if kl else SemiImplicitProgram
    return make_family(family, target.dim, key)


def check_start(target: AbstractTarget, family: AbstractFamily, key: Key, n: int = 64) -> None:
    """Refuse a target that has no finite log density and score at any draw of the first q."""
    finite = _finite(target, family, key, n)
    require(
        bool(jnp.any(finite)),
        InvalidTargetError,
        expected="a log density that is finite, with a finite gradient, somewhere near the start",
        got=f"NaN or infinity at all {n} draws of the starting {type(family).__name__} "
        "(unconstrained scale, centred at its loc)",
        write="supports={'sigma': numpyro.distributions.constraints.positive} for latents that are "
        "not real numbers, or family=MeanField(dim, loc=..., scale=...) near a valid point",
    )


def check_inside(objective: Objective, family: AbstractFamily, key: Key, n: int = 64) -> None:
    """Refuse a q with draws outside of the domain at whose boundary the test functions vanish."""
    if not isinstance(objective.test_functions, VanishingTestFunction):
        return
    domain = objective.test_functions.domain
    outside = n - int(jnp.sum(jax.vmap(domain.contains)(family.sample(key, n))))
    require(
        outside == 0,
        IncompatibleError,
        expected=f"a family that lives inside {domain}",
        got=f"{type(family).__name__} with {outside} of {n} draws outside",
        write=f"family=Squashed({type(family).__name__}(...), {domain})",
    )


@eqx.filter_jit
def _finite(target: AbstractTarget, family: AbstractFamily, key: Key, n: int) -> Array:
    def one(z):
        value, score = jax.value_and_grad(target.log_density)(z)
        return jnp.isfinite(value) & jnp.all(jnp.isfinite(score))

    return jax.vmap(one)(family.sample(key, n))
