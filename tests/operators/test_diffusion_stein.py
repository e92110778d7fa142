"""Diffusion Stein: E_p[O f] = 0 for any M, Langevin-Stein for M = I, and its supremum."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from tests.fixtures import skewed
from tests.laws.catalogue import randomised
from tests.operators.quadrature import normal_target, value


def position_dependent(z: jax.Array) -> jax.Array:
    """Not symmetric, not diagonal, and different everywhere."""
    d = z.shape[0]
    return jnp.eye(d) * (1 + z**2 / (1 + z**2)) + 0.3 * jnp.outer(jnp.tanh(z), jnp.ones(d))


class Positive(opvi.AbstractTestFunction):
    """Coupled coordinates, all positive: a score that is shifted cannot cancel in the mean."""

    def __call__(self, z: jax.Array, score: jax.Array) -> jax.Array:
        return 1 + jnp.tanh(z + 0.5 * jnp.roll(z, 1))


def test_function(dim: int) -> opvi.AbstractTestFunction:
    f = opvi.NeuralTestFunction(width=4, depth=1).init(dim, key=jr.key(0))
    return randomised(f, jr.key(1))


test_function.__test__ = False


@pytest.mark.float64
@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("constant", [True, False])
def test_mean_zero_under_the_posterior(dim: int, constant: bool) -> None:
    """Against draws of a skewed p: |mean| within five standard errors, and the spread is not zero."""
    known, f = skewed(dim), Positive()
    matrix = jnp.asarray([[1.0, 0.7], [-0.4, 0.5]])[:dim, :dim]
    operator = opvi.DiffusionStein(matrix if constant else position_dependent, opvi.Exact())
    target, q = known.target(), opvi.MeanField(dim)
    z = known.sample(jr.key(2), 200_000)

    def of(z: jax.Array, wrong: float = 0.0) -> jax.Array:
        draw = opvi.Draw(z=z, eps=None, seen=operator.see(target, z) + wrong, key=jr.key(0))
        return operator(f, draw, target=target, family=q)

    values = np.asarray(jax.jit(jax.vmap(of))(z))
    error = values.std() / len(values) ** 0.5
    assert error > 1e-4
    assert abs(values.mean()) < 5 * error
    # A score that is off by a tenth is seen: the law has teeth.
    wrong = np.asarray(jax.jit(jax.vmap(lambda z: of(z, 0.1)))(z))
    assert abs(wrong.mean()) > 5 * error


@pytest.mark.float64
@pytest.mark.parametrize(
    "divergence", [opvi.Exact(), opvi.Hutchinson(2), opvi.DivergenceFree()], ids=str
)
def test_the_identity_is_langevin_stein(divergence) -> None:
    target, q, f = skewed(2).target(), opvi.FullRank(2), test_function(2)
    plain = opvi.LangevinStein(divergence)
    z = q.sample(jr.key(0), 5)
    for identity in (jnp.eye(2), lambda z: jnp.eye(2)):
        operator = opvi.DiffusionStein(identity, divergence)
        for k in range(5):
            draw = opvi.Draw(z=z[k], eps=None, seen=target.score(z[k]), key=jr.key(k))
            np.testing.assert_allclose(
                operator(f, draw, target=target, family=q),
                plain(f, draw, target=target, family=q),
                rtol=1e-12,
            )


@pytest.mark.float64
def test_the_supremum_is_the_preconditioned_fisher_divergence() -> None:
    """f* = M' (s_p - s_q), value E_q|f*|^2; for M = 2 four times the Fisher divergence."""
    target, _ = normal_target(-0.2, 1.1)
    q = opvi.MeanField(1, loc=0.7, scale=0.9)

    class Best(opvi.AbstractTestFunction):
        scale: float = eqx.field(static=True)

        def __call__(self, z: jax.Array, score: jax.Array) -> jax.Array:
            return self.scale * (score - jax.grad(q.log_prob)(z))

    operator = opvi.DiffusionStein(jnp.full((1, 1), 2.0), opvi.Exact())
    fisher = value(opvi.Objective(opvi.Fisher()), q, target)
    got = value(opvi.Objective(operator), q, target, Best(2.0))
    np.testing.assert_allclose(got, 4 * fisher, rtol=1e-10)
    for off in (1.9, 2.1):
        assert value(opvi.Objective(operator), q, target, Best(off)) < got


@pytest.mark.parametrize(
    "matrix",
    [jnp.eye(3), jnp.ones(2), lambda z: z, np.eye(3)],
    ids=["wide", "vector", "function", "numpy"],
)
def test_a_preconditioner_of_the_wrong_shape_is_refused(matrix) -> None:
    objective = opvi.Objective(opvi.DiffusionStein(matrix))
    with pytest.raises(opvi.IncompatibleError, match=r"shape \(2, 2\)[\s\S]*DiffusionStein"):
        objective.check(opvi.MeanField(2))


def test_a_program_with_a_preconditioner_runs() -> None:
    target = skewed(2).target()
    posterior = opvi.fit(
        target,
        opvi.SemiImplicitProgram,
        opvi.Objective(opvi.DiffusionStein(position_dependent)),
        key=jr.key(0),
        steps=3,
        progress=False,
    )
    assert np.isfinite(posterior.history.objective).all()
    assert not posterior.history.skipped.any()
