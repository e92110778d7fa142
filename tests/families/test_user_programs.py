"""A program of one's own: any Equinox module or any function from noise to latents, in three lines."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi


def shift_and_scale(parameters, eps):
    return parameters["shift"] + jnp.exp(parameters["log_scale"]) * eps


def fit(q: opvi.AbstractFamily) -> opvi.AbstractFamily:
    """To N(1, 1.5^2)."""
    posterior = opvi.fit(
        opvi.from_log_density(lambda z: -0.5 * jnp.sum(((z - 1.0) / 1.5) ** 2), jnp.zeros(1)),
        q,
        opvi.Objective(opvi.LangevinStein(), opvi.LinearTestFunction()),
        key=jr.key(0),
        steps=800,
        learning_rate=2e-2,
        progress=False,
    )
    return posterior.family


@pytest.mark.parametrize(
    "network",
    [
        pytest.param(lambda: opvi.SkipMLP(1, 1, key=jr.key(1), width=4, depth=1), id="linear_skip"),
        pytest.param(lambda: eqx.nn.Linear(1, 1, key=jr.key(1)), id="equinox_module"),
        pytest.param(
            lambda: jax.tree_util.Partial(
                shift_and_scale, {"shift": jnp.zeros(1), "log_scale": jnp.zeros(1)}
            ),
            id="function_with_parameters",
        ),
    ],
)
def test_three_lines_and_it_is_fitted(network) -> None:
    q = fit(opvi.Program(network(), noise_dim=1))
    draws = np.asarray(q.sample(jr.key(2), 20_000))
    assert abs(draws.mean() - 1.0) < 0.06
    assert abs(draws.std() - 1.5) < 0.06


def test_a_plain_function_has_nothing_to_learn_and_its_closure_stays() -> None:
    scale = jnp.asarray([2.0, 3.0])
    q = opvi.Program(lambda eps: scale * jnp.cumsum(eps), noise_dim=2)
    assert q.dim == 2
    assert not jax.tree.leaves(eqx.filter(q, eqx.is_inexact_array))
    covariance = np.cov(np.asarray(q.sample(jr.key(0), 50_000)).T)
    np.testing.assert_allclose(covariance, [[4.0, 6.0], [6.0, 18.0]], rtol=0.03)


def test_a_linear_skip_program_starts_as_its_linear_part_and_bends() -> None:
    """E z = bias and Cov z = skip skip' at the start; the network is silent, but not its gradient."""
    q = opvi.Program(opvi.SkipMLP(5, 3, key=jr.key(0), scale=0.5, width=8, depth=1), noise_dim=5)
    np.testing.assert_allclose(
        np.cov(np.asarray(q.sample(jr.key(1), 50_000)).T), 0.25 * np.eye(3), atol=0.01
    )
    # Fewer inputs than latents: random directions, no latent is constant.
    thin = opvi.SkipMLP(2, 6, key=jr.key(0), width=4, depth=1)
    assert np.linalg.matrix_rank(np.asarray(thin.skip)) == 2
    assert np.all(np.linalg.norm(np.asarray(thin.skip), axis=1) > 0)

    @eqx.filter_grad
    def slope(network, eps):
        return jnp.sum(network(eps) ** 2)

    assert jnp.any(slope(q.network, jnp.arange(1.0, 6.0)).mlp.layers[-1].weight != 0)


@pytest.mark.parametrize(
    ("network", "dim"),
    [
        (lambda eps: jnp.sum(eps), None),
        (lambda eps: eps, 3),
        (lambda eps: jnp.outer(eps, eps), None),
    ],
    ids=["scalar", "wrong_dim", "matrix"],
)
def test_outputs_of_the_wrong_shape(network, dim) -> None:
    with pytest.raises(opvi.OpviError, match=r"expected a network from \(2,\) noise"):
        opvi.Program(network, 2, dim)
