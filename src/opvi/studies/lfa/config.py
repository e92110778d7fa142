"""What the study is run with: the paper's rows, the same with other optimisation, and ours."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax

import opvi
from opvi.studies.lfa.law import LATENTS


@dataclass(frozen=True)
class Size:
    """How long each part runs. `only`: names of methods; all when empty.

    `literal_steps`: of the rows as published; they are left out where it is zero.
    """

    learning_steps: int
    train_images: int
    steps: int
    literal_steps: int
    chains: int
    hmc_draws: int
    draws: int
    only: tuple[str, ...] = ()


FULL = Size(
    learning_steps=6000,
    train_images=60_000,
    steps=2000,
    literal_steps=10_000,
    chains=8,
    hmc_draws=1000,
    draws=4000,
)
ALL = "all"

QUICK = Size(
    learning_steps=1200,
    train_images=10_000,
    steps=700,
    literal_steps=0,
    chains=8,
    hmc_draws=500,
    draws=2000,
    only=("mean_field_kl", "mean_field_ls", "program_ls", "full_rank_kl", "semi_implicit_ls"),
)


@dataclass(frozen=True)
class Method:
    """A family, an objective, and how they are optimised.

    `coordinates`: of `law.rows`. An affine map in front changes neither what an affine last layer of
    a program can make nor a full-rank Gaussian, and a diagonal one no mean field: it is a start and a
    preconditioner. The rows with the paper's optimisation do without.
    """

    name: str
    label: str
    family: opvi.AbstractFamily | Callable[..., opvi.AbstractFamily]
    objective: opvi.Objective
    estimator: opvi.AbstractEstimator
    optimiser: optax.GradientTransformation
    test_function_optimiser: optax.GradientTransformation
    steps: int
    coordinates: str = "full"
    critic_steps: int = 5
    share_draws: bool = False


WIDTH = 2 * LATENTS

# "a three-layer neural network with the same hidden size as the variational program and hyperbolic
# tangent activations where unit activations were bounded to have norm two"
BOUNDED = opvi.NeuralTestFunction(
    width=WIDTH, depth=3, activation=jnp.tanh, ball=opvi.BoundedNorm(2.0)
)
BALL = opvi.NeuralTestFunction(width=WIDTH, depth=3, activation=jnp.tanh)


def program(dim: int, *, key: jax.Array) -> opvi.Program:
    """The paper's program: two ReLU layers of 2K units."""
    return opvi.MLPProgram(dim, key=key)


def standardised_program(dim: int, *, key: jax.Array) -> opvi.Program:
    """The same network, its last layer turned so that the first draws have mean 0 and covariance I.

    With random weights alone it starts as a sliver of its own making, a tenth as wide as the
    posterior in some directions, whose score takes f most of the fit to learn.
    """
    made = opvi.MLPProgram(dim, key=jr.fold_in(key, 0))
    z = made.sample(jr.fold_in(key, 1), 1000)
    scale = jnp.linalg.cholesky(jnp.cov(z, rowvar=False))
    last = lambda p: (p.network.layers[-1].weight, p.network.layers[-1].bias)
    weight, bias = last(made)
    turned = jax.scipy.linalg.solve_triangular(
        scale, jnp.concatenate([weight, (bias - z.mean(axis=0))[:, None]], axis=1), lower=True
    )
    return eqx.tree_at(last, made, (turned[:, :-1], turned[:, -1]))


def methods(size: Size) -> tuple[Method, ...]:
    every = {m.name: m for m in (*_of_the_paper(size), *_as_published(size), *_ours(size))}
    return tuple(every[name] for name in size.only or every)


def sized(quick: bool, steps: int, only: str) -> Size:
    """The size of a form, with `steps` steps and the methods named in `only`, joined by commas."""
    size = replace(QUICK if quick else FULL, steps=steps)
    if only != ALL:
        wanted = tuple(only.split(","))
        known = [m.name for m in methods(FULL)]
        for name in wanted:
            if name not in known:
                raise opvi.OpviError(
                    f"expected names of methods, joined by commas ({', '.join(known)}); got {name!r}.\n"
                    f"  Write instead: opvi study lfa --methods mean_field_kl,program_ls"
                )
        size = replace(size, only=wanted)
    return size


def _of_the_paper(size: Size) -> tuple[Method, ...]:
    """Families, operators and sizes of the paper; optimised so that they arrive."""
    kl = opvi.Objective(opvi.KL())
    squared = opvi.Objective(opvi.LangevinStein(opvi.DivergenceFree()), BOUNDED, opvi.Square())
    ball = opvi.Objective(opvi.LangevinStein(opvi.Hutchinson()), BALL)
    return (
        Method(
            "mean_field_kl",
            "mean field + KL",
            opvi.MeanField,
            kl,
            opvi.PathGradient(draws=16),
            *_adam(1e-2, size.steps, 1),
            size.steps,
            coordinates="diagonal",
            critic_steps=1,
        ),
        Method(
            "mean_field_ls",
            "mean field + LS",
            opvi.MeanField,
            squared,
            opvi.Reparameterised(draws=128),
            *_adam(5e-3, size.steps, 2),
            size.steps,
            coordinates="diagonal",
            critic_steps=2,
            share_draws=True,
        ),
        Method(
            "program_ls",
            "program + LS",
            standardised_program,
            ball,
            opvi.FunctionalGradient(draws=128),
            *_adam(2e-3, 2 * size.steps, 5),
            2 * size.steps,
            share_draws=True,
        ),
    )


def _as_published(size: Size) -> tuple[Method, ...]:
    """Algorithm 1 with the paper's rates: one ascent of f a step, constant 2e-4 for f and 2e-5 for q,
    no start and no preconditioner. The number of draws and of steps is not given there."""
    if not size.literal_steps:
        return ()
    literal = partial(
        Method,
        estimator=opvi.Reparameterised(draws=32),
        optimiser=optax.adam(2e-5),
        test_function_optimiser=optax.adam(2e-4),
        steps=size.literal_steps,
        coordinates="plain",
        critic_steps=1,
        share_draws=True,
    )
    return (
        literal(
            "mean_field_ls_published",
            "mean field + LS, as published",
            opvi.MeanField,
            opvi.Objective(opvi.LangevinStein(opvi.DivergenceFree()), BOUNDED, opvi.Square()),
        ),
        literal(
            "program_ls_published",
            "program + LS, as published",
            program,
            opvi.Objective(opvi.LangevinStein(opvi.Exact()), BOUNDED, opvi.Square()),
        ),
    )


def _ours(size: Size) -> tuple[Method, ...]:
    kl = opvi.Objective(opvi.KL())
    free = opvi.Objective(opvi.LangevinStein(opvi.DivergenceFree()), BALL)
    probed = opvi.Objective(opvi.LangevinStein(opvi.Hutchinson()), BALL)
    return (
        Method(
            "mean_field_ls_ball",
            "mean field + LS, L2 ball",
            opvi.MeanField,
            free,
            opvi.Reparameterised(draws=128),
            *_adam(5e-3, size.steps, 5),
            size.steps,
            coordinates="diagonal",
            share_draws=True,
        ),
        Method(
            "program_ls_descent",
            "program + LS, L2 ball, descent",
            standardised_program,
            probed,
            opvi.Reparameterised(draws=128),
            *_adam(2e-3, 2 * size.steps, 5),
            2 * size.steps,
            share_draws=True,
        ),
        Method(
            "semi_implicit_ls",
            "semi-implicit program + LS",
            partial(opvi.SemiImplicitProgram, width=WIDTH),
            free,
            opvi.FunctionalGradient(draws=128),
            *_adam(2e-3, size.steps, 5),
            size.steps,
            share_draws=True,
        ),
        Method(
            "full_rank_kl",
            "full rank + KL",
            opvi.FullRank,
            kl,
            opvi.PathGradient(draws=16),
            *_adam(1e-2, size.steps, 1),
            size.steps,
            critic_steps=1,
        ),
        Method(
            "flow_kl",
            "autoregressive flow + KL",
            opvi.Flow(LATENTS, key=jr.key(0), layers=2, width=WIDTH),
            kl,
            opvi.Reparameterised(draws=32),
            *_adam(5e-3, size.steps, 1),
            size.steps,
            critic_steps=1,
        ),
    )


def _adam(rate: float, steps: int, critic_steps: int):
    """For q and for f: each decays over its own number of updates."""
    return opvi.adam(rate, steps), opvi.adam(rate, steps * critic_steps)
