"""`learn`: variational EM in which the E-step has any operator objective.

    E-step   lambda follows the objective between q(z | x; lambda) and p_theta(x, z), as in a fit;
    M-step   theta ascends E_q[log p_theta(x, z)] on the same draws.

With the KL operator both sides climb one bound, the elbo. A variational program has no density and no
elbo, but the M-step never needed one: its gradient E_q[grad_theta log p_theta(x, z)] is a mean over
draws, and by Fisher's identity equals grad_theta log p_theta(x) when q is the posterior.
"""

import dataclasses
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
from opvi._core.types import Array, Key, PyTree, Scalar
from opvi.estimators import AbstractEstimator, PathGradient, SampleSet, estimate, sample_sets
from opvi.families import AbstractFamily
from opvi.families.amortised import AbstractAmortised, Shared
from opvi.objective import Objective
from opvi.recipes.defaults import default_estimator, default_objective
from opvi.solver import AbstractProgress, NoProgress, adam
from opvi.solver.guard import guarded_update, has_parameters, trainable
from opvi.targets import AbstractTarget
from opvi.testfunctions import AbstractTestFunction

BLOCK = 256  # steps between two looks of the host

Model = Callable[[Any, Any], AbstractTarget]
TestFunction = Callable[[Any], AbstractTestFunction]


class Learned(eqx.Module):
    """Parameters of the model, the q that was learned with them, and one entry a step of history."""

    parameters: PyTree
    amortised: AbstractAmortised
    objective: np.ndarray
    log_joint: np.ndarray
    """E_q[log p(x, z)], mean over the rows of the batch."""
    skipped: int = eqx.field(static=True)
    seconds: float = eqx.field(static=True)


class _Pieces(eqx.Module):
    model: Model
    objective: Objective
    estimator: AbstractEstimator
    optimisers: tuple[optax.GradientTransformation, ...]
    batch_size: int = eqx.field(static=True)
    critic_steps: int = eqx.field(static=True)


class _State(eqx.Module):
    """The three players (parameters of the model, q, f) and their optimisers."""

    players: tuple[PyTree, AbstractAmortised, TestFunction]
    optimisers: tuple[PyTree, ...]
    step: Array


def learn(
    model: Model,
    data: PyTree,
    parameters: PyTree,
    family: AbstractAmortised | AbstractFamily,
    objective: Objective | None = None,
    *,
    key: Key,
    steps: int,
    batch_size: int | None = None,
    test_function: TestFunction | None = None,
    estimator: AbstractEstimator | None = None,
    learning_rate: float = 1e-3,
    optimisers: tuple[optax.GradientTransformation, ...] | None = None,
    critic_steps: int = 5,
    progress: AbstractProgress | None = None,
) -> Learned:
    """Learn the parameters of a model with latents.

    **Arguments:**

    - `model`: `(parameters, row) -> target`, whose log density is log p_theta(x, z) of that row,
        *with* everything that depends on theta.
    - `data`: a pytree of arrays that share their first axis, one entry a row.
    - `parameters`: theta to start from, a pytree.
    - `family`: an amortised family; or a family, the same q for every row (for data of one row).
    - `objective`: KL for a q with a density and Langevin-Stein over the L2 ball for a program, when
        left out.
    - `test_function`: `x -> f`, such as `AmortisedTestFunction`; when left out, the objective's own,
        the same f for every row.
    - `learning_rate`: of Adam with cosine decay for theta, lambda and f; or `optimisers`, all three.
    - `critic_steps`: ascents of f to one step of q and of theta, all on one set of draws.
    """
    lengths = {np.shape(x)[0] for x in jax.tree_util.tree_leaves(data)}
    require(
        len(lengths) == 1 and steps >= 1,
        OpviError,
        expected="arrays in `data` that share the length of their first axis, and at least one step",
        got=f"lengths {sorted(lengths)}, steps={steps}",
        write="opvi.learn(model, images, parameters, family, steps=5000, key=key)",
    )
    rows = lengths.pop()
    amortised = Shared(family) if isinstance(family, AbstractFamily) else family
    one = eqx.filter_eval_shape(lambda d: amortised(_take(d, 0)), data)
    objective = default_objective(one) if objective is None else objective
    estimator = _few_draws(objective, one) if estimator is None else estimator
    objective.check(one)
    estimator.check(objective, one)
    target = eqx.filter_eval_shape(lambda p, d: model(p, _take(d, 0)), parameters, data)
    require(
        isinstance(target, AbstractTarget) and target.dim == amortised.dim,
        IncompatibleError,
        expected=f"a model that makes a target of {amortised.dim} latents, as many as the family has",
        got=f"a {type(target).__name__}"
        + (f" of {target.dim}" if isinstance(target, AbstractTarget) else ""),
        write="model=lambda parameters, row: opvi.from_log_density(lambda z: ..., jnp.zeros(dim))",
    )
    f_key, run_key = jr.split(key)
    if test_function is None:
        test_function = _Same(objective.test_functions.init(amortised.dim, key=f_key))
    if optimisers is None:
        rates = (steps, steps, steps * critic_steps)
        optimisers = tuple(adam(learning_rate, n) for n in rates)
    pieces = _Pieces(
        model, objective, estimator, optimisers, min(batch_size or rows, rows), critic_steps
    )
    players = (parameters, amortised, test_function)
    state = _State(
        players,
        tuple(o.init(trainable(p)) for o, p in zip(optimisers, players, strict=True)),
        jnp.zeros((), jnp.int32),
    )
    progress = NoProgress() if progress is None else progress
    data = jax.tree_util.tree_map(jnp.asarray, data)
    began, done, infos = time.perf_counter(), 0, []
    size = min(BLOCK, steps)
    progress.start(steps, 0)
    try:
        while done < steps:
            n = min(size, steps - done)
            state, info = _advance(pieces, state, data, run_key, jnp.asarray(n), size)
            infos.append([np.asarray(x)[:n] for x in info])
            done += n
            progress.update(done, float(infos[-1][0][-1]), int(infos[-1][2].sum()))
    finally:
        progress.close()
    value, log_joint, skipped = (np.concatenate(parts) for parts in zip(*infos, strict=True))
    return Learned(
        parameters=state.players[0],
        amortised=state.players[1],
        objective=value,
        log_joint=log_joint,
        skipped=int(skipped.sum()),
        seconds=time.perf_counter() - began,
    )


class _Same(eqx.Module):
    """One f for every row."""

    f: AbstractTestFunction

    def __call__(self, x: Any) -> AbstractTestFunction:
        del x
        return self.f


@eqx.filter_jit
def _advance(pieces: _Pieces, state: _State, data: PyTree, key: Key, n: Array, size: int):
    """Up to `n` <= `size` steps; the key of a step is a function of its number."""
    dynamic, static = eqx.partition(state, eqx.is_array)

    def step(dynamic):
        state = eqx.combine(dynamic, static)
        new, info = _step(pieces, state, data, jr.fold_in(key, state.step))
        return eqx.filter(new, eqx.is_array), info

    like = jax.eval_shape(step, dynamic)[1]
    buffers = jax.tree_util.tree_map(lambda x: jnp.zeros((size, *x.shape), x.dtype), like)

    def body(i, carry):
        dynamic, buffers = carry
        dynamic, info = step(dynamic)
        return dynamic, jax.tree_util.tree_map(lambda b, x: b.at[i].set(x), buffers, info)

    dynamic, buffers = jax.lax.fori_loop(0, n, body, (dynamic, buffers))
    return eqx.combine(dynamic, static), buffers


def _step(pieces: _Pieces, state: _State, data: PyTree, key: Key):
    """One batch of rows, one set of draws of each: f ascends on them, then q and theta step."""
    batch_key, draw_key = jr.split(key)
    rows = jax.tree_util.tree_leaves(data)[0].shape[0]
    batch = data
    if pieces.batch_size < rows:
        # With replacement: unbiased all the same, and no permutation of all rows for each step.
        batch = _take(data, jr.randint(batch_key, (pieces.batch_size,), 0, rows))
    keys = jr.split(draw_key, pieces.batch_size)
    parameters, amortised, f = state.players
    objective, estimator = pieces.objective, pieces.estimator

    def draw(x, key):
        target = pieces.model(parameters, x)
        sets = sample_sets(key, estimator.draws, objective, amortised(x), target)
        return tuple(sample.draws for sample in sets)

    draws = eqx.filter_vmap(draw)(batch, keys)

    def shown(x, draws) -> tuple[SampleSet, ...]:
        # The target is made anew: one that closes over its row cannot leave the vmap it was made in.
        return tuple(SampleSet(d, pieces.model(parameters, x)) for d in draws)

    @eqx.filter_value_and_grad
    def loss_of_f(f) -> Scalar:
        one = lambda x, draws: estimate(objective, f(x), amortised(x), shown(x, draws))
        return -jnp.mean(eqx.filter_vmap(one)(batch, draws))

    o_theta, o_q, o_f = state.optimisers
    value, f_ok = jnp.zeros(()), jnp.asarray(True)
    if has_parameters(f):
        dynamic, static = eqx.partition(f, eqx.is_inexact_array)

        def ascend(carry, _):
            dynamic, o_f = carry
            f = eqx.combine(dynamic, static)
            value, gradient = loss_of_f(f)
            f, o_f, ok = guarded_update(pieces.optimisers[2], gradient, o_f, f, value)
            return (trainable(f), o_f), (-value, ok)

        (dynamic, o_f), (values, f_oks) = jax.lax.scan(
            ascend, (dynamic, o_f), None, length=pieces.critic_steps
        )
        f, value, f_ok = eqx.combine(dynamic, static), values[-1], jnp.all(f_oks)

    def local(x, draws):
        """Each row's gradient in the parameters of its own q(z | x)."""
        got, gradient = estimator.gradient(objective, f(x), amortised(x), shown(x, draws))
        return (jnp.zeros(()) if got is None else got), trainable(gradient)

    values, gradients = eqx.filter_vmap(local)(batch, draws)
    value = value + jnp.mean(values)

    @eqx.filter_grad
    def pulled_back(amortised):
        # The gradient of <parameters of q(z | x), g> in lambda is g carried back through the encoder.
        def one(x, gradient):
            products = jax.tree_util.tree_map(
                lambda a, g: jnp.sum(a * g), trainable(amortised(x)), gradient
            )
            return sum(jax.tree_util.tree_leaves(products))

        return jnp.mean(eqx.filter_vmap(one)(batch, gradients))

    @eqx.filter_value_and_grad
    def loss(parameters) -> Scalar:
        def one(x, z, weight):
            h = jax.vmap(pieces.model(parameters, x).log_density)(z)
            return jnp.mean(h if weight is None else weight * h)

        zs = jnp.concatenate([d.z for d in draws], axis=1)
        weighted = draws[0].weight is not None
        weights = jnp.concatenate([d.weight for d in draws], axis=1) if weighted else None
        return -jnp.mean(jax.vmap(one)(batch, zs, weights))

    q_gradient = pulled_back(amortised)
    minus_log_joint, theta_gradient = loss(parameters)
    amortised, o_q, q_ok = guarded_update(pieces.optimisers[1], q_gradient, o_q, amortised, value)
    parameters, o_theta, theta_ok = guarded_update(
        pieces.optimisers[0], theta_gradient, o_theta, parameters, minus_log_joint
    )
    new = _State((parameters, amortised, f), (o_theta, o_q, o_f), state.step + 1)
    return new, (value, -minus_log_joint, ~(q_ok & theta_ok & f_ok))


def _few_draws(objective: Objective, family: AbstractFamily) -> AbstractEstimator:
    """The default estimator with few draws of each row: a step averages over a batch of rows."""
    estimator = default_estimator(objective, family)
    return dataclasses.replace(estimator, draws=1 if isinstance(estimator, PathGradient) else 16)


def _take(tree: PyTree, index: Any) -> PyTree:
    return jax.tree_util.tree_map(lambda x: x[index], tree)
