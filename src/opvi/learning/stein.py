"""`learn_by_stein`: an unnormalised model fitted to data by minimising its Stein discrepancy to them.

The paper's objective with the roles exchanged: q is the data, known by its draws only, and p_theta is
learned. With the score s_theta = grad_x log p_theta, which does not know the normaliser,

    min_theta sup_f t(E_data[(O^{p_theta} f)(x)])

- a learned f in the L2 ball: adversarial; the supremum is at s_theta - s_data, with value
  E_data |s_theta - s_data|^2;
- a closed-form F, such as the unit ball of a kernel: the kernel Stein discrepancy, no adversary;
- `ScoreMatching()` (Hyvarinen 2005): the limit of an unbounded F, E_data |s_theta|^2 + 2 div s_theta,
  the first value less a constant.
"""

import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax

from opvi._core.errors import IncompatibleError, OpviError, require
from opvi._core.types import Array, Float, Key, PyTree, Scalar, Vector
from opvi.estimators import estimate, sample_sets
from opvi.families import AbstractFamily
from opvi.objective import Objective
from opvi.operators import AbstractSteinOperator, LangevinStein
from opvi.solver import adam
from opvi.solver.guard import guarded_update, has_parameters, trainable
from opvi.targets import AbstractTarget, from_log_density
from opvi.testfunctions import AbstractTestFunction

LogDensity = Callable[[Any, Vector], Scalar]


class Empirical(AbstractFamily):
    """The law of the data: draws are rows, with replacement; as many as there are rows are the rows."""

    data: Float[Array, "rows d"]
    dim: int = eqx.field(static=True)

    def sample(self, key: Key, n: int) -> Float[Array, "n d"]:
        if n == self.data.shape[0]:
            return self.data
        return self.data[jr.randint(key, (n,), 0, self.data.shape[0])]


class ScoreMatching(eqx.Module):
    """E_data |s_theta(x)|^2 + 2 div s_theta(x), by d Jacobian-vector products of the score."""

    def __call__(self, target: AbstractTarget, x: Vector) -> Scalar:
        basis = jnp.eye(x.shape[0], dtype=x.dtype)
        score, columns = jax.vmap(lambda v: jax.jvp(target.score, (x,), (v,)), out_axes=(None, 0))(
            basis
        )
        return jnp.sum(score**2) + 2.0 * jnp.trace(columns)


class SteinLearned(eqx.Module):
    """The parameters, the adversary that was left, and the objective of each step."""

    parameters: PyTree
    test_function: AbstractTestFunction | None
    objective: np.ndarray
    skipped: int = eqx.field(static=True)
    seconds: float = eqx.field(static=True)


class _Pieces(eqx.Module):
    log_density: LogDensity
    objective: Objective | ScoreMatching
    optimisers: tuple[optax.GradientTransformation, optax.GradientTransformation]
    batch_size: int = eqx.field(static=True)
    critic_steps: int = eqx.field(static=True)

    def target(self, parameters: PyTree, dim: int) -> AbstractTarget:
        return from_log_density(lambda x: self.log_density(parameters, x), jnp.zeros(dim))


def learn_by_stein(
    log_density: LogDensity,
    data: Float[Array | np.ndarray, "rows d"],
    parameters: PyTree,
    objective: Objective | ScoreMatching | None = None,
    *,
    key: Key,
    steps: int,
    batch_size: int = 256,
    learning_rate: float = 1e-2,
    optimisers: tuple[optax.GradientTransformation, optax.GradientTransformation] | None = None,
    critic_steps: int = 5,
) -> SteinLearned:
    """Fit the parameters of `log_density(parameters, x)`, known up to its normaliser, to `data`.

    **Arguments:**

    - `objective`: `Objective(LangevinStein(), test_functions)`, over a learned F (the default, the L2
        ball) or one with a supremum in closed form; or `ScoreMatching()`.
    - `batch_size`: rows in a step; all of them, without any noise, where it is the number of rows.
    - `optimisers`: of the parameters and of f; Adam with cosine decay at `learning_rate` otherwise.
    - `critic_steps`: ascents of f to one step of the parameters.

    A learned f can fit the data that it is shown: keep it small, or the number of rows large.
    """
    data = jnp.asarray(data)
    rows, dim = data.shape
    objective = Objective(LangevinStein()) if objective is None else objective
    require(
        isinstance(objective, ScoreMatching)
        or isinstance(objective.operator, AbstractSteinOperator),
        IncompatibleError,
        expected="a Stein operator: the data have draws and no density",
        got=f"{type(getattr(objective, 'operator', objective)).__name__}",
        write="Objective(LangevinStein(), NeuralTestFunction(width=16)), or ScoreMatching()",
    )
    require(
        steps >= 1 and 1 <= batch_size,
        OpviError,
        expected="at least one step and one row",
        got=f"steps={steps}, batch_size={batch_size}",
        write="learn_by_stein(log_density, data, parameters, steps=2000, key=key)",
    )
    empirical = Empirical(data=data, dim=dim)
    f_key, run_key = jr.split(key)
    f = None
    if isinstance(objective, Objective):
        objective.check(empirical)
        f = objective.test_functions.init(dim, key=f_key)
    if optimisers is None:
        optimisers = (adam(learning_rate, steps), adam(learning_rate, steps * critic_steps))
    pieces = _Pieces(log_density, objective, optimisers, min(batch_size, rows), critic_steps)
    began = time.perf_counter()
    parameters = jax.tree_util.tree_map(jnp.asarray, parameters)
    parameters, f, values, skipped = _run(pieces, parameters, f, empirical, run_key, steps)
    return SteinLearned(
        parameters=parameters,
        test_function=f,
        objective=np.asarray(values),
        skipped=int(np.asarray(skipped).sum()),
        seconds=time.perf_counter() - began,
    )


@eqx.filter_jit
def _run(pieces: _Pieces, parameters: PyTree, f: Any, data: Empirical, key: Key, steps: int):
    state = (
        parameters,
        f,
        pieces.optimisers[0].init(trainable(parameters)),
        pieces.optimisers[1].init(trainable(f)),
    )
    dynamic, static = eqx.partition(state, eqx.is_array)

    def body(dynamic, k):
        new, info = _step(pieces, eqx.combine(dynamic, static), data, k)
        return eqx.filter(new, eqx.is_array), info

    keys = jax.vmap(lambda i: jr.fold_in(key, i))(jnp.arange(steps))
    dynamic, (values, skipped) = jax.lax.scan(body, dynamic, keys)
    parameters, f, _, _ = eqx.combine(dynamic, static)
    return parameters, f, values, skipped


def _step(pieces: _Pieces, state: tuple, data: Empirical, key: Key):
    parameters, f, o_theta, o_f = state
    objective, n = pieces.objective, pieces.batch_size

    if isinstance(objective, ScoreMatching):
        x = data.sample(key, n)

        @eqx.filter_value_and_grad
        def loss(parameters) -> Scalar:
            target = pieces.target(parameters, data.dim)
            return jnp.mean(jax.vmap(lambda x: objective(target, x))(x))
    else:

        def value_at(parameters, f, key) -> Scalar:
            target = pieces.target(parameters, data.dim)
            sets = sample_sets(key, n, objective, data, target)
            return estimate(objective, f, data, sets)

        if has_parameters(f):
            learned, fixed = eqx.partition(f, eqx.is_inexact_array)

            def ascend(carry, key):
                learned, o_f = carry
                f = eqx.combine(learned, fixed)
                value, gradient = eqx.filter_value_and_grad(
                    lambda f: -value_at(parameters, f, key)
                )(f)
                f, o_f, _ = guarded_update(pieces.optimisers[1], gradient, o_f, f, value)
                return (trainable(f), o_f), None

            keys = jr.split(jr.fold_in(key, 1), pieces.critic_steps)
            (learned, o_f), _ = jax.lax.scan(ascend, (learned, o_f), keys)
            f = eqx.combine(learned, fixed)

        @eqx.filter_value_and_grad
        def loss(parameters) -> Scalar:
            return value_at(parameters, f, jr.fold_in(key, 2))

    value, gradient = loss(parameters)
    parameters, o_theta, ok = guarded_update(
        pieces.optimisers[0], gradient, o_theta, parameters, value
    )
    return (parameters, f, o_theta, o_f), (value, ~ok)
