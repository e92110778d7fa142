"""What holds for every family in the catalogue: densities, conditional scores, weights, kinds."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from tests.goodness import grid, p_value
from tests.laws.catalogue import FAMILIES, families_of, make_family, shape_of

TRACTABLE = families_of(opvi.AbstractTractableFamily)
SEMI_IMPLICIT = families_of(opvi.AbstractSemiImplicitFamily)
# Those with noise (eps_g, xi) and z Gaussian given eps_g; other conditionals have their own tests.
GAUSSIAN_GIVEN = [name for name in SEMI_IMPLICIT if "SemiImplicitProgram" in name]
WEIGHTED = families_of(opvi.AbstractWeightedFamily)
TRANSPORT = families_of(opvi.AbstractTransportFamily)


@pytest.mark.parametrize("name", TRACTABLE)
def test_density_integrates_to_one_and_is_that_of_the_draws(name: str) -> None:
    """int q = 1; E_q[z] and E_q[z z'] by the integral and by draws; a chi-square test on cells."""
    q = make_family(name)
    draws = q.sample(jr.key(1), 20_000)
    points, volume = grid(-9.0, 9.0, 2, 200)
    log_prob = eqx.filter_jit(lambda q, z: jax.vmap(q.log_prob)(z))
    mass = np.exp(np.asarray(log_prob(q, points), np.float64)) * volume
    assert abs(mass.sum() - 1.0) < 2e-3
    z, x = np.asarray(draws, np.float64), np.asarray(points, np.float64)
    for power in (lambda z: z, lambda z: z**2, lambda z: z[:, :1] * z[:, 1:]):
        error = power(z).std(0) / len(z) ** 0.5
        assert np.all(np.abs(power(z).mean(0) - mass @ power(x)) < 4.5 * error + 2e-2)
    assert p_value(draws, q.log_prob, -4.0, 4.0, cells=8) > 1e-3


@pytest.mark.float64
@pytest.mark.parametrize("name", ["MeanField", "FullRank", "Affine_FullRank", *TRANSPORT])
def test_density_is_the_change_of_variables(name: str) -> None:
    """log q(R(eps)) = log r(eps) - log |det dR/deps|, the Jacobian by autodiff."""
    q = make_family(name)
    eps = q.noise(jr.key(2), 20)

    def expected(e):
        base = jnp.sum(jax.scipy.stats.norm.logpdf(e))
        return base - jnp.linalg.slogdet(jax.jacfwd(q.transform)(e))[1]

    by_hand = jax.vmap(expected)(eps)
    np.testing.assert_allclose(
        jax.vmap(lambda e: q.log_prob(q.transform(e)))(eps), by_hand, rtol=1e-7
    )
    if isinstance(q, opvi.AbstractTransportFamily):
        z, with_draw = jax.vmap(q.transform_and_log_prob)(eps)
        np.testing.assert_allclose(z, jax.vmap(q.transform)(eps), rtol=1e-12)
        np.testing.assert_allclose(with_draw, by_hand, rtol=1e-9)


@pytest.mark.float64
def test_low_rank_density_is_that_of_its_covariance() -> None:
    q = make_family("LowRank")
    covariance = jnp.diag(jnp.exp(2 * q.log_scale)) + q.factor @ q.factor.T
    z = q.sample(jr.key(3), 20)
    expected = jax.scipy.stats.multivariate_normal.logpdf(z, q.loc, covariance)
    np.testing.assert_allclose(jax.vmap(q.log_prob)(z), expected, rtol=1e-10)


@pytest.mark.float64
@pytest.mark.parametrize("name", GAUSSIAN_GIVEN)
def test_conditional_score_is_autodiff_of_the_conditional_density(name: str) -> None:
    """Given eps_g, z = m + J xi is Gaussian: grad_z log N(z; m, J J') at the draw."""
    q = make_family(name)

    def expected(eps):
        eps_g, xi = eps
        conditional = lambda xi: q.transform((eps_g, xi))
        mean, scale = conditional(jnp.zeros_like(xi)), jax.jacfwd(conditional)(xi)
        log_density = lambda z: jax.scipy.stats.multivariate_normal.logpdf(z, mean, scale @ scale.T)
        return jax.grad(log_density)(q.transform(eps))

    eps = q.noise(jr.key(4), 20)
    got = jax.vmap(q.conditional_score)(eps)
    np.testing.assert_allclose(got, jax.vmap(expected)(eps), rtol=1e-8, atol=1e-10)


@pytest.mark.float64
@pytest.mark.parametrize("name", [n for n in SEMI_IMPLICIT if hasattr(shape_of(n), "components")])
def test_conditional_score_of_a_mixture_is_that_of_the_component(name: str) -> None:
    q = make_family(name)
    eps = q.noise(jr.key(4), 30)
    got = jax.vmap(q.conditional_score)(eps)
    for k, component in enumerate(q.components):
        if isinstance(component, opvi.AbstractSemiImplicitFamily):
            scores = jax.vmap(component.conditional_score)(eps.components[k])
        else:
            scores = jax.vmap(lambda e, c=component: jax.grad(c.log_prob)(c.transform(e)))(
                eps.components[k]
            )
        here = np.asarray(eps.label) == k
        assert here.any()
        np.testing.assert_allclose(got[here], scores[here], rtol=1e-10)


@pytest.mark.parametrize("name", SEMI_IMPLICIT)
def test_conditional_score_has_the_mean_of_a_score(name: str) -> None:
    """E[grad log q(z | eps)] = 0 and E[grad log q(z | eps) z'] = -I: identities of any score of q."""
    q = make_family(name)
    eps = q.noise(jr.key(5), 50_000)
    s = np.asarray(jax.vmap(q.conditional_score)(eps), np.float64)
    z = np.asarray(jax.vmap(q.transform)(eps), np.float64)
    for h, exact in ((s, 0.0), (s[:, :, None] * z[:, None, :], -np.eye(2))):
        assert np.all(np.abs(h.mean(0) - exact) < 4.5 * h.std(0) / len(z) ** 0.5)


@pytest.mark.parametrize("name", WEIGHTED)
def test_weighted_strata_are_draws_of_q(name: str) -> None:
    """E_strata[weight h(z)] = E_q[h(z)], and the weights have mean one."""
    q, n = make_family(name), 50_000
    strata, noise = q.strata(jr.key(6), n), q.noise(jr.key(7), n)
    weight = np.asarray(jax.vmap(q.weight)(strata), np.float64)[:, None]
    z, plain = (np.asarray(jax.vmap(q.transform)(e), np.float64) for e in (strata, noise))
    np.testing.assert_allclose(jax.vmap(q.weight)(noise), 1.0, rtol=1e-5)
    np.testing.assert_allclose(weight.mean(), 1.0, atol=1e-3)
    assert weight.std() > 0.05
    for h in (lambda z: z, lambda z: z**2, np.tanh):
        error = ((weight * h(z)).var(0) + h(plain).var(0)) ** 0.5 / n**0.5
        assert np.all(np.abs((weight * h(z)).mean(0) - h(plain).mean(0)) < 4.5 * error)


@pytest.mark.parametrize("name", FAMILIES)
def test_kind_says_what_it_can_do(name: str) -> None:
    """Having a density, a conditional score or weights is a type: no method without it."""
    q = shape_of(name)
    kinds = {
        "log_prob": opvi.AbstractTractableFamily,
        "transform_and_log_prob": opvi.AbstractTransportFamily,
        "conditional_score": opvi.AbstractSemiImplicitFamily,
        "weight": opvi.AbstractWeightedFamily,
        "transform": opvi.AbstractReparameterisedFamily,
    }
    for method, kind in kinds.items():
        assert hasattr(q, method) == isinstance(q, kind), method
    if not isinstance(q, opvi.AbstractTractableFamily):
        with pytest.raises(opvi.IncompatibleError, match="Write instead"):
            opvi.Objective(opvi.KL()).check(q)


@pytest.mark.parametrize("name", FAMILIES)
def test_draws_have_the_shape_and_the_precision_of_the_parameters(name: str) -> None:
    q = make_family(name)
    draws = eqx.filter_eval_shape(lambda q: q.sample(jr.key(0), 7), q)
    assert draws.shape == (7, q.dim)
    assert draws.dtype == jnp.float32
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        double = make_family(name)
        assert eqx.filter_eval_shape(lambda q: q.sample(jr.key(0), 7), double).dtype == jnp.float64
        if isinstance(q, opvi.AbstractTractableFamily):
            z = jax.ShapeDtypeStruct((q.dim,), jnp.float64)
            out = eqx.filter_eval_shape(lambda q, z: q.log_prob(z), double, z)
            assert out.shape == ()
            assert out.dtype == jnp.float64
