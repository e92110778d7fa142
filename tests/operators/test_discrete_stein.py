"""Discrete Stein operators (paper, appendix C): mean zero under p, and only under p, without sampling."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpyro.distributions import constraints

import opvi
from opvi._core.states import all_states, number_of_states
from tests.discrete_models import enumerate_states, ising, random_target
from tests.laws.catalogue import randomised

OPERATORS = {
    "DiscreteStein": opvi.DiscreteStein,
    "CoordinateStein": opvi.CoordinateStein,
    "GibbsStein": opvi.GibbsStein,
}
GRIDS = {"one": (6,), "binary": (2, 2, 2), "uneven": (3, 2, 4)}


def table(operator, cardinalities, values) -> opvi.AbstractTestFunction:
    """f with these values, a row for each state; a stack of them makes a stack of functions."""
    d = len(cardinalities)
    f = opvi.TableTestFunction(cardinalities, outputs=operator.outputs(d)).init(d, key=jr.key(0))
    return eqx.tree_at(lambda f: f.values, f, values)


def random_tables(operator, cardinalities, n: int, seed: int = 0) -> opvi.AbstractTestFunction:
    shape = (n, number_of_states(cardinalities), operator.outputs(len(cardinalities)))
    return table(operator, cardinalities, 3.0 * jr.normal(jr.key(seed), shape))


def apply(operator, target, f, states) -> jax.Array:
    """(O f)(z) at each of the states, a row for each of a stack of functions."""
    q = opvi.CategoricalMeanField(target.cardinalities)  # no operator here asks it anything

    def one(f: opvi.AbstractTestFunction, z: jax.Array) -> jax.Array:
        draw = opvi.Draw(z=z, eps=None, seen=operator.see(target, z), key=jr.key(0))
        return operator(f, draw, target=target, family=q)

    along = eqx.if_array(0)
    return eqx.filter_vmap(lambda f: jax.vmap(lambda z: one(f, z))(states), in_axes=(along,))(f)


@eqx.filter_jit
def at_every_state(operator, target, f) -> jax.Array:
    return apply(operator, target, f, all_states(target.cardinalities))


@pytest.mark.float64
def test_telescopes_to_zero_under_p_for_every_c() -> None:
    """E_p[O f] = 0 on {0, ..., c}, c up to 50, for random p and f, to the rounding of its terms."""
    operator, cs = opvi.DiscreteStein(), range(1, 51)
    targets = [random_target((c + 1,), seed=c) for c in cs]
    values = [np.random.default_rng(c).normal(0.0, 3.0, (20, c + 1, 1)) for c in cs]

    @eqx.filter_jit
    def everything(values):  # one compilation for all c
        fs = [table(operator, (c + 1,), v) for c, v in zip(cs, values, strict=True)]
        states = [all_states(t.cardinalities) for t in targets]
        return (
            [apply(operator, *each) for each in zip(targets, fs, states, strict=True)],
            [jax.vmap(t.log_density)(z) for t, z in zip(targets, states, strict=True)],
        )

    ofs, log_ps = everything([jnp.asarray(v) for v in values])
    for c, of, log_p in zip(cs, ofs, log_ps, strict=True):
        p = np.exp(log_p) / np.exp(log_p).sum()
        terms = p * of
        size = np.abs(terms).sum(axis=1)
        assert np.all(np.abs(terms.sum(axis=1)) < 2e-15 * c * size)
        assert size.min() > 0.1


@pytest.mark.parametrize("c", [1, 7, 50])
def test_telescopes_to_the_last_bit_where_nothing_is_rounded(c: int) -> None:
    """A uniform p and f of small integers: the sum is 0, not nearly 0."""
    target = opvi.from_log_density(
        lambda latents: jnp.zeros(()),
        {"k": 0},
        supports={"k": constraints.integer_interval(0, c)},
    )
    values = np.random.default_rng(c).integers(1, 10, (20, c + 1, 1)).astype(np.float32)
    of = at_every_state(
        opvi.DiscreteStein(), target, table(opvi.DiscreteStein(), (c + 1,), jnp.asarray(values))
    )
    np.testing.assert_array_equal(np.asarray(of).sum(axis=1), 0.0)
    assert np.all(np.any(np.asarray(of) != 0, axis=1))


@pytest.mark.float64
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("name", OPERATORS)
def test_zero_under_p_and_under_nothing_else(name: str, grid: str) -> None:
    """The states' expectations of all O f form a matrix whose kernel is p, and p alone."""
    cardinalities, operator = GRIDS[grid], OPERATORS[name]()
    target = random_target(cardinalities, seed=4)
    p = np.asarray(enumerate_states(target).p)
    s, m = number_of_states(cardinalities), operator.outputs(len(cardinalities))
    basis = table(operator, cardinalities, jnp.eye(s * m).reshape(s * m, s, m))
    matrix = np.asarray(at_every_state(operator, target, basis))  # row: f, column: z
    np.testing.assert_allclose(matrix @ p, 0.0, atol=1e-14 * np.abs(matrix).max())
    assert np.linalg.matrix_rank(matrix, tol=1e-8) == s - 1


@pytest.mark.float64
def test_n_binary_latents_in_order_are_one_latent_of_2_to_the_n_states() -> None:
    """Ordered indexing: the operator on {0, 1}^9 is that of {0, ..., 511} at the number z spells."""
    spins = ising()
    log_p = np.asarray(enumerate_states(spins).log_density)
    line = opvi.from_log_density(
        lambda latents: jnp.asarray(log_p)[latents["k"]],
        {"k": 0},
        supports={"k": constraints.integer_interval(0, 511)},
    )
    operator, values = opvi.DiscreteStein(), jr.normal(jr.key(0), (4, 512, 1))
    on_spins = at_every_state(operator, spins, table(operator, (2,) * 9, values))
    on_line = at_every_state(operator, line, table(operator, (512,), values))
    np.testing.assert_allclose(on_spins, on_line, rtol=1e-10)
    p = enumerate_states(spins).p
    np.testing.assert_allclose(on_spins @ p, 0.0, atol=1e-12)


@pytest.mark.float64
def test_coordinate_form_of_one_latent_is_the_operator_of_the_paper() -> None:
    target = random_target((9,), seed=1)
    f = random_tables(opvi.DiscreteStein(), (9,), 5)
    one, each = (at_every_state(o(), target, f) for o in (opvi.DiscreteStein, opvi.CoordinateStein))
    np.testing.assert_allclose(one, each, rtol=1e-13)


@pytest.mark.float64
def test_coordinate_form_is_a_sum_over_coordinates() -> None:
    """sum_i of the operator of {0, ..., c_i} in coordinate i alone, the others held fixed."""
    cardinalities = GRIDS["uneven"]
    target, f = random_target(cardinalities), random_tables(opvi.CoordinateStein(), (3, 2, 4), 3)
    shape = (3, *cardinalities)
    values, log_p = f.values.reshape(*shape, 3), enumerate_states(target).log_density
    joint = jnp.exp(log_p).reshape(cardinalities)
    expected = jnp.zeros(shape)
    for i in range(3):
        fi = jnp.moveaxis(values[..., i], i + 1, -1)
        p = jnp.moveaxis(joint, i, -1)
        fp = (fi * p).at[..., 0].set(0.0)
        above = jnp.concatenate([fp[..., 1:], jnp.zeros_like(fp[..., :1])], axis=-1)
        expected = expected + jnp.moveaxis((above - fp) / p, -1, i + 1)
    got = at_every_state(opvi.CoordinateStein(), target, f)
    np.testing.assert_allclose(got.reshape(shape), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.float64
def test_gibbs_supremum_over_the_l2_ball_is_chi_squared_between_conditionals() -> None:
    """f*_i = p(z_i | z_-i) / q(z_i | z_-i) - 1, and the objective there is sum_i E_q[f*_i^2]."""
    cardinalities, operator = GRIDS["uneven"], opvi.GibbsStein()
    target = random_target(cardinalities, seed=2)
    q = randomised(opvi.Autoregressive(cardinalities, key=jr.key(0), width=8), jr.key(1))
    states = all_states(cardinalities)
    log_p = enumerate_states(target).log_density.reshape(cardinalities)
    log_q = jax.vmap(q.log_prob)(states).reshape(cardinalities)
    conditionals = [
        [jax.nn.log_softmax(x, axis=i).ravel() for x in (log_p, log_q)] for i in range(3)
    ]
    best = jnp.stack([jnp.exp(p - q) - 1 for p, q in conditionals], axis=1)
    weight = jnp.exp(log_q).ravel()

    def objective(values: jax.Array) -> jax.Array:
        of = at_every_state(operator, target, table(operator, cardinalities, values[None]))[0]
        return weight @ (2 * of - jnp.sum(values**2, axis=1))

    value, gradient = jax.value_and_grad(objective)(best)
    np.testing.assert_allclose(value, weight @ jnp.sum(best**2, axis=1), rtol=1e-10)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)
    assert value > 0.1


@pytest.mark.parametrize("name", OPERATORS)
def test_impossible_states_give_no_nan(name: str) -> None:
    """p has zeros: ratios of zero where they are neighbours of a draw, and finite gradients of f."""
    target = opvi.from_log_density(
        lambda latents: jnp.where(latents["k"][0] + latents["k"][1] == 3, -jnp.inf, 0.0),
        {"k": jnp.zeros(2)},
        supports={"k": constraints.integer_interval(0, 2)},
    )
    operator, states = OPERATORS[name](), all_states((3, 3))
    possible = states[np.asarray(states).sum(axis=1) != 3]

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def mean(f: opvi.AbstractTestFunction) -> jax.Array:
        return jnp.sum(apply(operator, target, f, possible) ** 2)

    value, gradient = mean(random_tables(operator, (3, 3), 2))
    assert np.isfinite(value)
    assert value > 0
    assert np.all(np.isfinite(gradient.values))


# --- real numbers and states


def _mixture() -> opvi.AbstractTarget:
    """k ~ (0.2, 0.5, 0.3), x | k ~ N(k^2 - 1, (1 + k / 2)^2) in two coordinates, one of them tilted."""
    log_p = np.log([0.2, 0.5, 0.3])

    def log_density(latents):
        k = latents["k"].astype(jnp.result_type(float))
        sd = 1 + k / 2
        u = (latents["x"] - jnp.stack([k**2 - 1, 0.5 * k])) / sd
        u = u.at[1].add(-0.4 * u[0])
        log_normal = -0.5 * jnp.sum(u**2) - 2 * jnp.log(sd) - np.log(2 * np.pi)
        return log_normal + jnp.asarray(log_p, u.dtype)[latents["k"]]

    return opvi.from_log_density(
        log_density,
        {"x": jnp.zeros(2), "k": 0},
        supports={"k": constraints.integer_interval(0, 2)},
    )


@pytest.mark.float64
@pytest.mark.parametrize("name", OPERATORS)
def test_mixed_operator_has_mean_zero_under_p(name: str) -> None:
    """By quadrature in x and enumeration of k; and not under a p with other weights of k."""
    target = _mixture()
    operator = opvi.MixedStein(opvi.LangevinStein(opvi.Exact()), OPERATORS[name]())
    m = operator.outputs(2, 3)
    functions = opvi.StateTestFunction((3,), outputs=m, width=4, depth=1, activation=jnp.tanh)
    f = randomised(functions.init(3, key=jr.key(0)), jr.key(1))
    q = opvi.MixedFamily(opvi.FullRank(2), opvi.CategoricalMeanField((3,)))
    grid = jnp.linspace(
        -14.0, 18.0, 161
    )  # the trapezoidal rule is spectral for what it vanishes at
    cell = (grid[1] - grid[0]) ** 2

    @eqx.filter_jit
    def moments(k: jax.Array) -> tuple[jax.Array, jax.Array]:
        """(p(k), E[O f; k])"""

        def one(x0, x1):
            z = jnp.stack([x0, x1, k])
            draw = opvi.Draw(z=z, eps=None, seen=operator.see(target, z), key=jr.key(0))
            of = operator(f, draw, target=target, family=q)
            p = jnp.exp(target.log_density(z))
            return p, p * of

        p, pof = jax.vmap(jax.vmap(one, (None, 0)), (0, None))(grid, grid)
        return cell * jnp.sum(p), cell * jnp.sum(pof)

    p, pof = zip(*(moments(jnp.asarray(float(k))) for k in range(3)), strict=True)
    np.testing.assert_allclose(p, [0.2, 0.5, 0.3], rtol=1e-9)
    np.testing.assert_allclose(sum(pof), 0.0, atol=1e-9)
    other = sum(a * w for a, w in zip(pof, (1.0, 2.0, 0.5), strict=True))
    assert abs(other) > 1e-2 * max(abs(a) for a in pof) > 1e-5
