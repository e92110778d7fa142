"""Bounded supports (appendix A): E_p[O f] = 0 for densities that do not vanish at the boundary.

Expectations are Gauss quadrature, so a law of zero is a law of 1e-6 and needs no draws.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpyro.distributions import constraints

import opvi
from opvi import Box, EuclideanBall, HalfSpace, Simplex, VanishingTestFunction
from tests.laws.catalogue import randomised

INF = float("inf")


@dataclass(frozen=True)
class Case:
    """A domain, a density on it (not 0 on its boundary), nodes and weights of int h p dz, edge points."""

    domain: opvi.AbstractDomain
    log_density: Callable[[jax.Array], jax.Array]
    nodes: np.ndarray
    weights: np.ndarray
    edge: np.ndarray
    normals: np.ndarray


def legendre(n: int, a: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    x, w = np.polynomial.legendre.leggauss(n)
    return a + (b - a) * (x + 1) / 2, w * (b - a) / 2


def product(*rules: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    points = np.stack(np.meshgrid(*(r[0] for r in rules), indexing="ij"), -1).reshape(
        -1, len(rules)
    )
    weights = np.prod(np.stack(np.meshgrid(*(r[1] for r in rules), indexing="ij"), -1), -1)
    return points, weights.ravel()


def box() -> Case:
    """A Gaussian bent over [-1, 2] x [0, inf): cut off on three sides."""
    log_density = lambda z: -0.5 * (z[0] - 0.7) ** 2 - 0.5 * (z[1] - 0.4 * z[0]) ** 2
    nodes, weights = product(legendre(40, -1, 2), legendre(60, 0, 9))
    edge = np.array([[-1.0, 0.3], [2.0, 1.0], [0.5, 0.0]])
    normals = np.array([[1.0, 0], [1, 0], [0, 1]])
    return Case(Box((-1.0, 0.0), (2.0, INF)), log_density, nodes, weights, edge, normals)


def half_space() -> Case:
    """exp(-u) in the distance u from a slanted line, Gaussian along it."""
    n, t = np.array([0.6, 0.8]), np.array([-0.8, 0.6])
    log_density = lambda z: -jnp.asarray(n) @ z - 0.5 * (jnp.asarray(t) @ z - 0.3) ** 2
    # u is the distance from the line 0.6 x + 0.8 y = 0.5.
    (u, w), (v, wv) = legendre(60, 0, 30), legendre(60, -8, 8)
    plane, weights = product((u, w), (v, wv))
    nodes = (plane[:, :1] + 0.5) * n + plane[:, 1:] * t
    edge = 0.5 * n + np.array([[-2.0], [0.0], [1.5]]) * t
    return Case(HalfSpace((1.2, 1.6), 1.0), log_density, nodes, weights, edge, np.tile(n, (3, 1)))


def simplex() -> Case:
    """Dirichlet(1, 2, 1), which is 0 on one side of three only."""
    (x, wx), (s, ws) = legendre(40, 0, 1), legendre(40, 0, 1)
    plane, weights = product((x, wx), (s, ws))
    nodes = np.stack([plane[:, 0], (1 - plane[:, 0]) * plane[:, 1]], 1)
    edge = np.array([[0.0, 0.3], [0.6, 0.0], [0.25, 0.75]])
    normals = np.array([[1.0, 0], [0, 1], [1, 1]])
    log_density = lambda z: jnp.log(z[1])
    return Case(Simplex(), log_density, nodes, weights * (1 - plane[:, 0]), edge, normals)


def ball() -> Case:
    """exp(z_1 - z_2 / 2) on a disc of radius 1.5 around (1, -1)."""
    angles = 2 * np.pi * np.arange(60) / 60
    plane, weights = product(legendre(40, 0, 1.5), (angles, np.full(60, 2 * np.pi / 60)))
    direction = np.stack([np.cos(plane[:, 1]), np.sin(plane[:, 1])], 1)
    nodes = np.array([1.0, -1.0]) + plane[:, :1] * direction
    edge_normals = np.stack([np.cos(angles[:3]), np.sin(angles[:3])], 1)
    edge = np.array([1.0, -1.0]) + 1.5 * edge_normals
    log_density = lambda z: z[0] - 0.5 * z[1]
    domain = EuclideanBall(1.5, (1.0, -1.0))
    return Case(domain, log_density, nodes, weights * plane[:, 0], edge, edge_normals)


CASES = {"box": box, "half_space": half_space, "simplex": simplex, "ball": ball}
BASE = opvi.NeuralTestFunction(width=4, depth=1, activation=jnp.tanh)


@pytest.mark.float64
@pytest.mark.parametrize("name", CASES)
def test_mean_zero_with_the_factor_and_not_without_it(name: str) -> None:
    case = CASES[name]()
    target = opvi.from_log_density(case.log_density, jnp.zeros(2))
    operator, q = opvi.LangevinStein(opvi.Exact()), opvi.MeanField(2)

    @jax.jit
    def mean(f: opvi.AbstractTestFunction, wrong: float) -> tuple[jax.Array, jax.Array]:
        def of(z: jax.Array) -> jax.Array:
            draw = opvi.Draw(z=z, eps=None, seen=target.score(z) + wrong, key=jr.key(0))
            return operator(f, draw, target=target, family=q)

        nodes = jnp.asarray(case.nodes)
        p = jnp.asarray(case.weights) * jnp.exp(jax.vmap(case.log_density)(nodes))
        values = jax.vmap(of)(nodes)
        return jnp.sum(p * values) / jnp.sum(p), jnp.sum(p * jnp.abs(values)) / jnp.sum(p)

    functions = VanishingTestFunction(BASE, case.domain)
    f = randomised(functions.init(2, key=jr.key(0)), jr.key(1))
    zero, length = mean(f, 0.0)
    assert abs(zero) < 1e-6 * length
    # Without the factor, and with another p, it is a thousand times more.
    assert abs(mean(f.f, 0.0)[0]) > 1e-3  # pyright: ignore[reportAttributeAccessIssue]
    assert abs(mean(f, 0.1)[0]) > 1e-3


@pytest.mark.float64
@pytest.mark.parametrize("name", CASES)
def test_what_a_domain_promises(name: str) -> None:
    """v' M = 0 on the edge, M invertible inside; squash is a local bijection into the inside."""
    case = CASES[name]()
    domain = case.domain
    at_edge = jax.vmap(domain.vanishing)(jnp.asarray(case.edge))
    flux = np.einsum("ni,nij->nj", case.normals, at_edge)
    np.testing.assert_allclose(flux, 0.0, atol=1e-12)
    y = jr.normal(jr.key(0), (200, 2))
    z = jax.vmap(domain.squash)(y)
    assert bool(jnp.all(jax.vmap(domain.contains)(z)))
    assert jnp.min(jnp.abs(jnp.linalg.det(jax.vmap(domain.vanishing)(z)))) > 1e-9
    jacobian = jnp.linalg.det(jax.vmap(jax.jacfwd(domain.squash))(y))
    assert jnp.min(jnp.abs(jacobian)) > 1e-6
    assert bool(jnp.all(jnp.sign(jacobian) == jnp.sign(jacobian[0])))
    outside = (
        jnp.asarray(case.edge + 0.01 * case.normals),
        jnp.asarray(case.edge - 0.01 * case.normals),
    )
    both = [np.asarray(jax.vmap(domain.contains)(o)) for o in outside]
    assert np.all(both[0] ^ both[1])


def test_supports_that_have_a_domain() -> None:
    assert opvi.domain_of(constraints.unit_interval) == Box(0.0, 1.0)
    assert opvi.domain_of(constraints.positive) == Box(0.0, INF)
    assert opvi.domain_of(constraints.less_than(3.0)) == Box(-INF, 3.0)
    assert opvi.domain_of(constraints.simplex) == Simplex()


@pytest.mark.parametrize(
    "support",
    [constraints.corr_cholesky, constraints.real, constraints.boolean, constraints.circular, "box"],
    ids=str,
)
def test_a_support_the_factor_does_not_know(support) -> None:
    with pytest.raises(opvi.InvalidTargetError, match=r"boundary is known[\s\S]*supports="):
        opvi.domain_of(support)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Box(1.0, 1.0), "lower < upper"),
        (lambda: Box((0.0, 2.0), 1.0), "lower < upper"),
        (lambda: HalfSpace((0.0, 0.0)), "normal vector"),
        (lambda: EuclideanBall(0.0), "radius above 0"),
        (
            lambda: opvi.Objective(
                opvi.LangevinStein(), VanishingTestFunction(opvi.KernelBall(), Box(0.0, 1.0))
            ),
            r"learned[\s\S]*DiffusionStein\(domain.vanishing\)",
        ),
        (
            lambda: opvi.Squashed(
                opvi.FullRankMixture(2, key=jr.key(0), components=2), Box(0.0, 1.0)
            ),
            "without mixture weights",
        ),
    ],
)
def test_bad_input(make, message: str) -> None:
    with pytest.raises(opvi.OpviError, match=message):
        make()


def test_a_family_that_does_not_live_inside_is_refused() -> None:
    domain = Box(0.0, 1.0)
    target = opvi.from_log_density(lambda z: -jnp.sum(z**2), jnp.zeros(1))
    objective = opvi.Objective(opvi.LangevinStein(), VanishingTestFunction(BASE, domain))
    with pytest.raises(opvi.IncompatibleError, match=r"inside Box[\s\S]*family=Squashed"):
        opvi.fit(target, opvi.MeanField, objective, key=jr.key(0), progress=False)


def test_a_program_on_a_box_fits_a_truncated_normal() -> None:
    """N(.8, .5^2) cut to [0, 1], most of it at the upper edge: against its quantiles, by W1."""
    from scipy.stats import truncnorm

    exact = truncnorm(-1.6, 0.4, loc=0.8, scale=0.5)
    target = opvi.from_log_density(lambda z: -2.0 * jnp.sum((z - 0.8) ** 2), jnp.zeros(1))
    domain = Box(0.0, 1.0)
    program = opvi.SemiImplicitProgram(1, key=jr.key(0), width=16)
    posterior = opvi.fit(
        target,
        opvi.Squashed(program, domain),
        opvi.Objective(
            opvi.LangevinStein(), VanishingTestFunction(opvi.NeuralTestFunction(width=16), domain)
        ),
        key=jr.key(0),
        steps=800,
        estimator=opvi.FunctionalGradient(128),
        progress=False,
    )
    n = 10_000
    quantiles = exact.ppf((np.arange(n) + 0.5) / n)

    def w1(family: opvi.AbstractFamily) -> float:
        return float(np.mean(np.abs(np.sort(family.sample(jr.key(1), n)[:, 0]) - quantiles)))

    assert w1(posterior.family) < 0.01
    assert w1(opvi.Squashed(program, domain)) > 0.05
