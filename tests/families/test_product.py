"""Products of blocks: what the blocks can do together decides the type."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from tests.goodness import p_value

KEY = jr.key(0)
MAKE = {
    "gaussian": lambda: opvi.FullRank(1, loc=0.7, scale_tril=1.5),
    "wide": lambda: opvi.FullRank(2, loc=-0.5, scale_tril=jnp.asarray([[0.6, 0.0], [0.9, 0.5]])),
    "program": lambda: opvi.Program(lambda eps: jnp.tanh(eps), 1),
    "semi_implicit": lambda: opvi.SemiImplicitProgram(1, key=KEY, width=4, depth=1),
    "mixture": lambda: opvi.Mixture(
        [opvi.MeanField(1, loc=-1.0), opvi.MeanField(1, loc=1.0)], [0.2, 0.8]
    ),
    "flow": lambda: opvi.TriangularSplineFlow(1, key=KEY, layers=1, knots=4),
}
ABILITIES = {
    "density": opvi.AbstractTractableFamily,
    "transport": opvi.AbstractTransportFamily,
    "semi_implicit": opvi.AbstractSemiImplicitFamily,
    "weights": opvi.AbstractWeightedFamily,
}


@pytest.mark.parametrize(
    ("blocks", "can"),
    [
        (["gaussian", "wide"], {"density"}),
        (["gaussian", "flow"], {"density", "transport"}),
        (["gaussian", "mixture"], {"density", "weights"}),
        (["gaussian", "semi_implicit"], {"semi_implicit"}),
        (["mixture", "semi_implicit"], {"semi_implicit", "weights"}),
        (["gaussian", "program"], set()),
        (["mixture", "program"], {"weights"}),
    ],
)
def test_it_can_do_what_all_blocks_can(blocks: list[str], can: set[str]) -> None:
    q = opvi.Product([MAKE[name]() for name in blocks])
    assert {name for name, kind in ABILITIES.items() if isinstance(q, kind)} == can
    kl = opvi.Objective(opvi.KL())
    if "density" in can:
        kl.check(q)
    else:
        with pytest.raises(opvi.IncompatibleError, match="a family with a density"):
            kl.check(q)


def test_draws_have_the_density_over_permuted_indices() -> None:
    q = opvi.Product([MAKE["wide"](), MAKE["mixture"]()], [[2, 0], [1]])
    draws = q.sample(jr.key(1), 50_000)
    assert p_value(draws, q.log_prob, -4.0, 4.0, cells=6, fine=6) > 1e-3
    # The wrong density is seen: coordinates 0 and 2 swapped.
    swapped = opvi.Product([MAKE["wide"](), MAKE["mixture"]()], [[0, 2], [1]])
    assert p_value(draws, swapped.log_prob, -4.0, 4.0, cells=6, fine=6) < 1e-6


@pytest.mark.float64
def test_density_and_scores_are_those_of_the_blocks() -> None:
    wide, flow = MAKE["wide"](), MAKE["flow"]()
    q = opvi.Product([wide, flow], [[0, 2], [1]])
    eps = q.noise(jr.key(2), 8)
    z, log_q = eqx.filter_jit(eqx.filter_vmap(q.transform_and_log_prob))(eps)
    np.testing.assert_allclose(z, eqx.filter_jit(eqx.filter_vmap(q.transform))(eps), rtol=1e-12)
    of_flow = eqx.filter_jit(eqx.filter_vmap(flow.log_prob))(z[:, jnp.asarray([1])])
    both = jax.vmap(wide.log_prob)(z[:, jnp.asarray([0, 2])]) + of_flow
    np.testing.assert_allclose(log_q, both, rtol=1e-6)
    np.testing.assert_allclose(eqx.filter_jit(eqx.filter_vmap(q.log_prob))(z), both, rtol=1e-12)

    program = MAKE["semi_implicit"]()
    mixed = opvi.Product([program, wide], [[1], [0, 2]])
    eps = mixed.noise(jr.key(3), 8)
    score = jax.vmap(mixed.conditional_score)(eps)
    np.testing.assert_allclose(score[:, 1:2], jax.vmap(program.conditional_score)(eps[0]))
    z = jax.vmap(mixed.transform)(eps)[:, jnp.asarray([0, 2])]
    np.testing.assert_allclose(
        score[:, jnp.asarray([0, 2])], jax.vmap(jax.grad(wide.log_prob))(z), rtol=1e-12
    )


def test_weighted_means_are_those_of_the_draws() -> None:
    q = opvi.Product([MAKE["mixture"](), MAKE["mixture"](), MAKE["gaussian"]()])
    eps = q.strata(jr.key(4), 40_000)
    weight = jax.vmap(q.weight)(eps)
    h = lambda z: jnp.sin(z[..., 0]) * z[..., 1] + z[..., 2]
    weighted = jnp.mean(weight * h(jax.vmap(q.transform)(eps)))
    assert abs(weighted - jnp.mean(h(q.sample(jr.key(5), 40_000)))) < 0.04
    assert abs(jnp.mean(weight) - 1.0) < 0.01
    assert jnp.std(weight) > 0.5


def test_a_small_fit_of_a_gaussian_and_a_student_t() -> None:
    """Correlated Gaussians at both ends, a heavy tail in the middle: the family contains p."""

    def log_density(z):
        u, v = z[0], z[2]
        tail = jax.scipy.stats.t.logpdf((z[1] - 1.0) / 2.0, 4.0)
        return tail - 0.5 * (u**2 + (v - 0.8 * u) ** 2 / 0.36)

    posterior = opvi.fit(
        opvi.from_log_density(log_density, jnp.zeros(3)),
        opvi.Product([opvi.FullRank(2), opvi.StudentT(1, dof=4.0)], [[0, 2], [1]]),
        opvi.Objective(opvi.KL()),
        key=jr.key(6),
        steps=2000,
        learning_rate=2e-2,
        progress=False,
    )
    gaussian, student = posterior.family.blocks
    covariance = gaussian.scale_tril @ gaussian.scale_tril.T
    # The path gradient is exactly zero at q = p: it ends there, not near there.
    np.testing.assert_allclose(covariance, [[1.0, 0.8], [0.8, 1.0]], atol=1e-2)
    np.testing.assert_allclose([*gaussian.loc, *student.loc], [0.0, 0.0, 1.0], atol=1e-2)
    np.testing.assert_allclose(student.scale_tril, [[2.0]], atol=2e-2)


@pytest.mark.parametrize("indices", [[[0], [0, 1]], [[0, 1], [2]], [[0], [1, 3]], [[0]]])
def test_indices_that_do_not_add_up(indices: list[list[int]]) -> None:
    with pytest.raises(opvi.IncompatibleError, match=r"every one once.*\n.*\[\[0\], \[1, 2\]\]"):
        opvi.Product([MAKE["gaussian"](), MAKE["wide"]()], indices)


def test_blocks_that_are_none() -> None:
    with pytest.raises(opvi.IncompatibleError, match=r"reparameterised families; got \[\]"):
        opvi.Product([])
    states = opvi.BernoulliMeanField(2)
    with pytest.raises(opvi.IncompatibleError, match=r"got .*BernoulliMeanField.*\n.*MixedFamily"):
        opvi.Product([MAKE["gaussian"](), states])
