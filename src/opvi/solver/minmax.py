"""One step of operator variational inference (paper, algorithm 1): pure, for `lax.scan` or by hand.

solver = MinMax(target, objective, estimator, ...)
state = solver.init(family, key=key)
state, info = solver.step(state, key)
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax

from opvi._core.errors import IncompatibleError, OpviError, require
from opvi._core.types import Array, Key, PyTree, Scalar
from opvi.estimators import (
    AbstractEstimator,
    SampleSet,
    ScoreFunction,
    sample_sets,
    test_function_gradient,
)
from opvi.families import AbstractFamily
from opvi.objective import Objective
from opvi.operators import check_latents, evaluations
from opvi.solver.guard import guarded_update, has_parameters, trainable
from opvi.targets import AbstractTarget, temper
from opvi.testfunctions import AbstractTestFunction


class State(eqx.Module):
    """What the next step needs, and nothing else."""

    family: AbstractFamily
    test_function: AbstractTestFunction
    family_optimiser: PyTree
    test_function_optimiser: PyTree
    step: Array
    key: Key


class Info(eqx.Module):
    """What a step says about itself."""

    objective: Scalar
    skipped: Array
    test_function_skipped: Array


class MinMax(eqx.Module):
    """Ascend the objective in theta `critic_steps` times, then descend it in lambda once.

    - `share_draws`: one batch of draws (and of scores) serves all critic steps and the step of q.
        It costs `draws` scores a step instead of `(critic_steps + 1) draws`.
    - `temperature`: inverse temperature of the target as a function of the step (annealing).
    - A gradient that is not finite is never written into the parameters: the step is skipped and
        counted.
    """

    target: AbstractTarget
    objective: Objective
    estimator: AbstractEstimator
    optimiser: optax.GradientTransformation
    test_function_optimiser: optax.GradientTransformation
    critic_steps: int = eqx.field(static=True, default=5)
    share_draws: bool = eqx.field(static=True, default=False)
    temperature: Callable[[Array], Scalar] | None = None

    def __check_init__(self):
        require(
            self.critic_steps >= 1,
            OpviError,
            expected="at least one critic step for each step of q",
            got=f"critic_steps={self.critic_steps}",
            write="critic_steps=5",
        )

    def init(self, family: AbstractFamily, *, key: Key) -> State:
        """The state before the first step; refuses pieces that do not fit together."""
        require(
            family.dim == self.target.dim,
            IncompatibleError,
            expected=f"a family over the {self.target.dim} unconstrained latents of the target",
            got=f"{type(family).__name__} with dim={family.dim}",
            write=f"family={type(family).__name__}({self.target.dim}, ...)",
        )
        check_latents(family, self.target)
        self.objective.check(family)
        self.estimator.check(self.objective, family)
        f = self.objective.test_functions.init(family.dim, key=jr.fold_in(key, 0))
        return State(
            family=family,
            test_function=f,
            family_optimiser=self.optimiser.init(trainable(family)),
            test_function_optimiser=self.test_function_optimiser.init(trainable(f)),
            step=jnp.zeros((), jnp.int32),
            key=jr.fold_in(key, 1),
        )

    def step(self, state: State, key: Key) -> tuple[State, Info]:
        """One outer step. `key` is used for this step only."""
        if self.temperature is None:
            target = self.target
        else:
            target = temper(self.target, self.temperature(state.step))
        f, f_optimiser = state.test_function, state.test_function_optimiser
        value, f_skipped = jnp.zeros(()), jnp.zeros((), jnp.int32)
        if has_parameters(f):
            draw_key, key = jr.fold_in(key, 1), jr.fold_in(key, 2)
            shared = self._sample(draw_key, state.family, target) if self.share_draws else None
            f, f_optimiser, value, f_skipped = self._ascend(
                f, f_optimiser, state.family, target, draw_key, shared
            )
            sets = shared if shared is not None else self._sample(key, state.family, target)
        else:
            sets = self._sample(key, state.family, target)
        estimate, gradient = self.estimator.gradient(self.objective, f, state.family, sets)
        value = value if estimate is None else estimate
        family, family_optimiser, ok = guarded_update(
            self.optimiser, gradient, state.family_optimiser, state.family, value
        )
        new = State(
            family=family,
            test_function=f,
            family_optimiser=family_optimiser,
            test_function_optimiser=f_optimiser,
            step=state.step + 1,
            key=state.key,
        )
        return new, Info(objective=value, skipped=~ok, test_function_skipped=f_skipped)

    def gradient_evaluations(self) -> int:
        """Gradients of the log density in one step."""
        seen = evaluations(self.objective.operator, self.target) * self.estimator.draws
        own = self.estimator.gradient_evaluations(self.objective)
        if isinstance(self.estimator, ScoreFunction):
            own += self.estimator.evaluations_beside(self.target)
        f = eqx.filter_eval_shape(
            lambda: self.objective.test_functions.init(self.target.dim, key=jr.key(0))
        )
        if not jax.tree_util.tree_leaves(f):
            return seen + own
        batches = 1 if self.share_draws else self.critic_steps + 1
        return batches * seen + own

    def _sample(self, key: Key, family: AbstractFamily, target: AbstractTarget):
        return sample_sets(key, self.estimator.draws, self.objective, family, target)

    def _ascend(
        self,
        f: AbstractTestFunction,
        optimiser_state: PyTree,
        family: AbstractFamily,
        target: AbstractTarget,
        key: Key,
        shared: tuple[SampleSet, ...] | None,
    ) -> tuple[AbstractTestFunction, PyTree, Scalar, Array]:
        """`critic_steps` ascents in theta at this q."""
        parameters, static = eqx.partition(f, eqx.is_inexact_array)

        def ascend(carry: tuple[Any, PyTree], k: Array):
            parameters, optimiser_state = carry
            f = eqx.combine(parameters, static)
            sets = shared
            if sets is None:
                sets = self._sample(jr.fold_in(key, k), family, target)
            value, gradient = test_function_gradient(self.objective, f, family, sets)
            descent = jax.tree_util.tree_map(jnp.negative, gradient)
            f, optimiser_state, ok = guarded_update(
                self.test_function_optimiser, descent, optimiser_state, f, value
            )
            return (trainable(f), optimiser_state), (value, ~ok)

        (parameters, optimiser_state), (values, skipped) = jax.lax.scan(
            ascend, (parameters, optimiser_state), jnp.arange(self.critic_steps)
        )
        f = eqx.combine(parameters, static)
        return f, optimiser_state, values[-1], jnp.sum(skipped.astype(jnp.int32))
