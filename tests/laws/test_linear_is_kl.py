"""Linear f and a Gaussian q under Langevin-Stein: stationary exactly where KL is (DESIGN.md, section 7).

By Price and Bonnet grad_loc KL = -E_q[s], and for z = loc + L eps grad_L KL = -(E_q[s eps'] + L^-T) on
the lower triangle; E_q[O (A z + b)] = tr(A (E_q[z s'] + I)) + b' E_q[s]. So the KL gradient vanishes if
and only if E_q[O f] does for every linear f. The same, through the estimators, on Gauss-Hermite nodes.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import opvi
from opvi.estimators import SampleSet
from tests.fixtures import skewed

pytestmark = pytest.mark.float64

NODES = 20
P = skewed(2)


def nodes() -> tuple[jax.Array, jax.Array]:
    """Noise in two dimensions and its weights: E[h(eps)] = sum w h for polynomials up to degree 39."""
    x, w = np.polynomial.hermite_e.hermegauss(NODES)
    w = w / w.sum()
    eps = np.stack([g.ravel() for g in np.meshgrid(x, x, indexing="ij")], axis=1)
    return jnp.asarray(eps), jnp.asarray(np.outer(w, w).ravel())


def expectation(estimator, objective, f, q) -> jax.Array:
    """The expected gradient in lambda: one-draw estimates, weighted by the nodes."""
    eps, weights = nodes()
    target = P.target()

    def one(eps):
        z = q.transform(eps)
        seen = objective.operator.see(target, z)
        draw = opvi.Draw(z=z[None], eps=eps[None], seen=seen[None], key=jr.split(jr.key(0), 1))
        gradient = estimator.gradient(objective, f, q, (SampleSet(draw, target),))[1]
        return ravel_pytree(eqx.filter(gradient, eqx.is_inexact_array))[0]

    return weights @ jax.vmap(one)(eps)


def moments(q) -> jax.Array:
    """E_q[O f] for every linear f at once: E_q[s] and E_q[s z'] + I."""
    eps, weights = nodes()
    z = jax.vmap(q.transform)(eps)
    s = jax.vmap(jax.grad(P.log_density))(z)
    return jnp.concatenate(
        [(weights @ s)[:, None], jnp.einsum("n,ni,nj->ij", weights, s, z) + jnp.eye(2)], 1
    )


def elbo_gap(q) -> jax.Array:
    eps, weights = nodes()

    def one(eps):
        z = q.transform(eps)
        return q.log_prob(z) - P.log_density(z)

    return weights @ jax.vmap(one)(eps)


@pytest.fixture(scope="module")
def optimum() -> opvi.FullRank:
    """The minimiser of KL over full-rank Gaussians, by Newton's method."""
    with jax.enable_x64(True):
        q = opvi.FullRank(2, loc=jnp.asarray([0.3, 1.0]), scale_tril=0.7)
        parameters, static = eqx.partition(q, eqx.is_inexact_array)
        flat, unravel = ravel_pytree(parameters)

        def value(x):
            return elbo_gap(eqx.combine(unravel(x), static))

        # Only the strict lower triangle of `off_diagonal` is used: a pseudo-inverse leaves the rest.
        step = jax.jit(
            lambda x: x - jnp.linalg.pinv(jax.hessian(value)(x), rtol=1e-8) @ jax.grad(value)(x)
        )
        for _ in range(12):
            flat = step(flat)
        assert jnp.max(jnp.abs(jax.grad(value)(flat))) < 1e-11
        return eqx.combine(unravel(flat), static)


KL = opvi.Objective(opvi.KL())
LINEAR = opvi.Objective(opvi.LangevinStein(), opvi.LinearTestFunction())


def best_linear(q) -> opvi.AbstractTestFunction:
    """The maximiser over f = A z + b of 2 E[O f] - E|f|^2: one linear solve."""
    eps, weights = nodes()
    z = jax.vmap(q.transform)(eps)
    x = jnp.concatenate([jnp.ones((len(z), 1)), z], 1)
    gram = jnp.einsum("n,ni,nj->ij", weights, x, x)
    solution = jnp.linalg.solve(gram, moments(q).T).T
    f = opvi.LinearTestFunction().init(2, key=jr.key(0))
    return eqx.tree_at(lambda f: (f.bias, f.weight), f, (solution[:, 0], solution[:, 1:]))


def test_stationary_together(optimum: opvi.FullRank) -> None:
    nothing = KL.test_functions.init(2, key=jr.key(0))
    assert jnp.max(jnp.abs(moments(optimum))) < 1e-9
    for estimator in (opvi.Reparameterised(1), opvi.PathGradient(1)):
        assert jnp.max(jnp.abs(expectation(estimator, KL, nothing, optimum))) < 1e-9
    f = best_linear(optimum)
    for estimator in (opvi.Reparameterised(1), opvi.FunctionalGradient(1)):
        assert jnp.max(jnp.abs(expectation(estimator, LINEAR, f, optimum))) < 1e-9


def test_not_stationary_together(optimum: opvi.FullRank) -> None:
    nothing = KL.test_functions.init(2, key=jr.key(0))
    for where in (lambda q: q.loc, lambda q: q.log_diagonal):
        q = eqx.tree_at(where, optimum, where(optimum) + 0.2)
        f = best_linear(q)
        assert jnp.max(jnp.abs(moments(q))) > 0.05
        assert jnp.linalg.norm(expectation(opvi.PathGradient(1), KL, nothing, q)) > 0.05
        assert jnp.linalg.norm(expectation(opvi.Reparameterised(1), LINEAR, f, q)) > 0.05
        assert jnp.linalg.norm(expectation(opvi.FunctionalGradient(1), LINEAR, f, q)) > 0.05


class Difference(opvi.AbstractTestFunction):
    """f* = grad log p - grad log q: the supremum over the L2 ball."""

    q: opvi.FullRank

    def __call__(self, z: jax.Array, score: jax.Array) -> jax.Array:
        return score - jax.grad(self.q.log_prob)(z)


def test_path_and_functional_gradients_are_the_gradient_of_kl(optimum: opvi.FullRank) -> None:
    """Away from the optimum, against autodiff of KL on the nodes; the functional one at f = f*."""
    q = eqx.tree_at(lambda q: (q.loc, q.log_diagonal), optimum, replace_fn=lambda x: x + 0.3)
    q = eqx.tree_at(lambda q: q.off_diagonal, q, jnp.asarray([[0.0, 0.0], [0.4, 0.0]]))
    exact = ravel_pytree(eqx.filter_grad(elbo_gap)(q))[0]
    nothing = KL.test_functions.init(2, key=jr.key(0))
    neural = opvi.Objective(opvi.LangevinStein())
    path = expectation(opvi.PathGradient(1), KL, nothing, q)
    functional = expectation(opvi.FunctionalGradient(1), neural, Difference(q), q)
    reparameterised = expectation(opvi.Reparameterised(1), KL, nothing, q)
    np.testing.assert_allclose(reparameterised, exact, atol=1e-10)
    np.testing.assert_allclose(path, exact, atol=1e-9)
    np.testing.assert_allclose(functional, exact, atol=1e-9)
    assert jnp.linalg.norm(exact) > 0.1
