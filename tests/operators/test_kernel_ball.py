"""Kernel Stein discrepancy: its formula, its statistics, its supremum, its gradient, its fits."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from opvi import IMQ, RBF, KernelBall, Laplace, Riesz, TwoBatches, UStatistic, VStatistic
from opvi.estimators import SampleSet
from opvi.operators import stein_kernel
from tests.fixtures import banana, gaussian, skewed, sliced_w1
from tests.laws.reference import derivative, directions, dot, size

KERNELS = {
    "RBF": RBF(scale=0.8),
    "IMQ": IMQ(scale=1.3, power=-0.6),
    "Laplace": Laplace(scale=1.7, smoothing=0.5),
    "Riesz": Riesz(scale=0.9, power=1.2, smoothing=0.3),
}


def value(kernel: opvi.AbstractKernel, x: jax.Array, y: jax.Array) -> jax.Array:
    """k(x, y), written again."""
    length = kernel.scale
    assert length is not None
    u = jnp.sum((x - y) ** 2) / length**2
    match kernel:
        case RBF():
            return jnp.exp(-u / 2)
        case IMQ():
            return (1 + u) ** kernel.power
        case Laplace():
            return jnp.exp(-jnp.sqrt(kernel.smoothing**2 + u))
        case Riesz():
            a = lambda v: (kernel.smoothing**2 + jnp.sum(v**2) / length**2) ** (kernel.power / 2)
            zero = kernel.smoothing**kernel.power
            return 1 + a(x) + a(y) - a(x - y) - zero
    raise AssertionError


def by_definition(kernel, x, s, y, t) -> jax.Array:
    """The Langevin-Stein operator on both arguments of k, by automatic differentiation."""
    k = lambda x, y: value(kernel, x, y)
    cross = jax.jacfwd(jax.grad(k, 1), 0)(x, y)
    terms = s @ t * k(x, y) + s @ jax.grad(k, 1)(x, y) + t @ jax.grad(k, 0)(x, y)
    return terms + jnp.trace(cross)


def pairs(kernel, x, s, y, t) -> jax.Array:
    one = lambda x, s: jax.vmap(lambda y, t: by_definition(kernel, x, s, y, t))(y, t)
    return jax.vmap(one)(x, s)


def published_rbf(x, s, y, t, h2):
    """Liu, Lee and Jordan 2016, eq. 9, for k = exp(-|x - y|^2 / (2 h2)), in NumPy."""
    r = x - y
    k = np.exp(-r @ r / (2 * h2))
    return k * (s @ t + s @ r / h2 - t @ r / h2 + len(x) / h2 - r @ r / h2**2)


def published_imq(x, s, y, t, c2, beta):
    """Gorham and Mackey 2017, for k = (c2 + |x - y|^2)^beta."""
    r = x - y
    w = c2 + r @ r
    gradient = 2 * beta * w ** (beta - 1) * r
    trace = -2 * beta * len(x) * w ** (beta - 1) - 4 * beta * (beta - 1) * w ** (beta - 2) * r @ r
    return s @ t * w**beta - s @ gradient + t @ gradient + trace


def random_points(n: int, m: int, d: int = 3):
    rng = np.random.default_rng(0)
    return tuple(rng.normal(size=(k, d)) + 0.3 for k in (n, n, m, m))


@pytest.mark.float64
@pytest.mark.parametrize("name", KERNELS)
def test_the_stein_kernel_is_the_operator_on_both_arguments(name: str) -> None:
    kernel, points = KERNELS[name], random_points(4, 5)
    assert kernel.scale is not None
    exact = jax.jit(lambda x, s, y, t: pairs(kernel, x, s, y, t))(*map(jnp.asarray, points))
    # On the host and on the device, and far from the origin.
    for shift in (0.0, 0.0 if name == "Riesz" else 1e4):
        x, s, y, t = points
        host = stein_kernel(kernel, x + shift, s, y + shift, t, kernel.scale)
        assert isinstance(host, np.ndarray)
        assert host.dtype == np.float64
        device = stein_kernel(
            kernel, *map(jnp.asarray, (x + shift, s, y + shift, t)), scale=kernel.scale
        )
        np.testing.assert_allclose(host, exact, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(device, exact, rtol=1e-8, atol=1e-8)


@pytest.mark.float64
def test_the_published_formulas() -> None:
    x, s, y, t = random_points(4, 5)
    rbf = stein_kernel(RBF(), x, s, y, t, 0.8)
    # (c2 + r^2)^beta = c^(2 beta) (1 + r^2 / c^2)^beta
    imq = stein_kernel(IMQ(power=-0.6), x, s, y, t, 1.3) * 1.3**-1.2
    for i, j in itertools.product(range(4), range(5)):
        args = x[i], s[i], y[j], t[j]
        np.testing.assert_allclose(rbf[i, j], published_rbf(*args, 0.64), rtol=1e-11)
        np.testing.assert_allclose(imq[i, j], published_imq(*args, 1.69, -0.6), rtol=1e-11)


@pytest.mark.float64
@pytest.mark.parametrize("name", KERNELS)
def test_mean_zero_under_the_posterior(name: str) -> None:
    """E_{z ~ p} h(x, z) = 0 for every x: |mean| within five standard errors, for a skewed p."""
    kernel, known = KERNELS[name], skewed(2)
    assert kernel.scale is not None
    score = jax.jit(jax.vmap(jax.grad(known.log_density)))
    z = known.sample(jr.key(0), 50_000)
    x = known.sample(jr.key(1), 3)

    def z_scores(t: jax.Array) -> np.ndarray:
        h = np.asarray(stein_kernel(kernel, x, score(x), z, t, kernel.scale))  # pyright: ignore
        return h.mean(1) / h.std(1) * h.shape[1] ** 0.5

    assert np.max(np.abs(z_scores(score(z)))) < 5
    assert np.max(np.abs(z_scores(score(z) + 0.2))) > 5


def draws_of(q, eps, target: opvi.AbstractTarget) -> opvi.Draw:
    z = jax.vmap(q.transform)(eps)
    keys = jr.split(jr.key(0), z.shape[0])
    return opvi.Draw(z=z, eps=eps, seen=jax.vmap(target.score)(z), key=keys)


def over_all(statistic: opvi.AbstractStatistic, draws: opvi.Draw, size: int, what):
    """The mean of `what(sets)` over all ways to fill the sets with `size` draws of the atoms each."""
    atoms, sets = draws.z.shape[0], statistic.sets
    tuples = jnp.asarray(list(itertools.product(range(atoms), repeat=sets * size)))

    def one(indices: jax.Array):
        chosen = indices.reshape(sets, size)
        return what(tuple(jax.tree_util.tree_map(lambda x, c=c: x[c], draws) for c in chosen))

    return jax.tree_util.tree_map(lambda x: jnp.mean(x, axis=0), jax.vmap(one)(tuples))


@pytest.mark.float64
def test_which_statistics_are_unbiased() -> None:
    """q uniform on three atoms, every sample enumerated: the expectation of each statistic is exact."""
    kernel, target, q = KERNELS["IMQ"], skewed(2).target(), opvi.FullRank(2)
    draws = eqx.filter_jit(draws_of)(q, q.noise(jr.key(1), 3), target)
    h = jax.jit(lambda z, s: pairs(kernel, z, s, z, s))(draws.z, draws.seen)
    exact, own = jnp.mean(h), jnp.mean(jnp.diagonal(h))

    def expectation(statistic: opvi.AbstractStatistic, size: int) -> jax.Array:
        ball = KernelBall(kernel, statistic)
        value = lambda s: ball.supremum(opvi.LangevinStein(), q, (target,) * len(s), s)
        return jax.jit(lambda draws: over_all(statistic, draws, size, value))(draws)

    np.testing.assert_allclose(expectation(UStatistic(), 3), exact, rtol=1e-10)
    np.testing.assert_allclose(expectation(TwoBatches(), 2), exact, rtol=1e-10)
    for n in (1, 3):
        biased = exact + (own - exact) / n
        np.testing.assert_allclose(expectation(VStatistic(), n), biased, rtol=1e-10)
    assert own > 1.5 * exact


class Combination(opvi.AbstractTestFunction):
    """sum_j a_j k(., x_j), with |f|_H^2 = sum_ij a_i' a_j k(x_i, x_j)."""

    kernel: opvi.AbstractKernel
    a: jax.Array
    x: jax.Array

    def __call__(self, z: jax.Array, score: jax.Array) -> jax.Array:
        return jax.vmap(lambda y: value(self.kernel, z, y))(self.x) @ self.a


@pytest.mark.float64
@pytest.mark.parametrize("name", ["RBF", "Riesz"])
def test_the_witness_attains_the_supremum(name: str) -> None:
    """(E O f)^2 / |f|_H^2 is largest at f*, where it is h averaged; O f by the operator itself."""
    kernel, target, q = KERNELS[name], skewed(2).target(), opvi.FullRank(2, loc=0.4)
    operator, ball = opvi.LangevinStein(opvi.Exact()), KernelBall(kernel, VStatistic())

    @jax.jit
    def compute(eps: jax.Array):
        draws = draws_of(q, eps, target)
        (best,) = ball.maximisers(operator, q, (target,), (draws,))

        def mean_of(f: opvi.AbstractTestFunction) -> jax.Array:
            return jnp.mean(jax.vmap(lambda d: operator(f, d, target=target, family=q))(draws))

        x = draws.z
        gram = jax.vmap(lambda y: jax.vmap(lambda z: value(kernel, y, z))(x))(x)

        def ratio(a: jax.Array) -> jax.Array:
            return mean_of(Combination(kernel, a, x)) ** 2 / jnp.sum(gram * (a @ a.T))

        others = jax.vmap(ratio)(jr.normal(jr.key(3), (50, *x.shape)))
        return mean_of(best), ball.supremum(operator, q, (target,), (draws,)), gram, others

    at_best, ksd2, gram, others = compute(q.noise(jr.key(1), 6))
    # |f*|_H^2 is the V-statistic, as E O f* is, so their ratio is too.
    np.testing.assert_allclose(at_best, ksd2, rtol=1e-9)
    assert ksd2 > 1e-2
    assert np.linalg.eigvalsh(gram)[0] > 0
    assert jnp.max(others) < ksd2


@pytest.mark.float64
@pytest.mark.parametrize(
    ("statistic", "family"),
    [
        (UStatistic(), "FullRank"),
        (TwoBatches(), "FullRank"),
        (VStatistic(), "FullRank"),
        (UStatistic(), "SemiImplicitProgram"),
    ],
    ids=str,
)
def test_the_gradient_against_the_exact_one(statistic, family: str) -> None:
    """E over all samples of the gradient is the gradient of the expectation, by finite differences."""
    kernel, target = KERNELS["IMQ"], skewed(2).target()
    q = opvi.FullRank(2)
    if family != "FullRank":
        q = opvi.SemiImplicitProgram(2, key=jr.key(0), noise_dim=1, width=3, depth=1)
    eps = q.noise(jr.key(1), 3)
    objective = opvi.Objective(opvi.LangevinStein(), KernelBall(kernel, statistic))
    n = 1 if statistic.sets == 2 else 2
    estimator = opvi.Reparameterised(n * statistic.sets)
    estimator.check(objective, q)
    f = objective.test_functions.init(2, key=jr.key(0))

    def gradient(sets: tuple[opvi.Draw, ...]):
        samples = tuple(SampleSet(s, target) for s in sets)
        return estimator.gradient(objective, f, q, samples)

    whole = eqx.filter_jit(lambda q: over_all(statistic, draws_of(q, eps, target), n, gradient))
    got, along_lambda = whole(q)

    def exact(q) -> jax.Array:
        d = draws_of(q, eps, target)
        h = pairs(kernel, d.z, d.seen, d.z, d.seen)
        mean: jax.Array = jnp.mean(h)
        if isinstance(statistic, VStatistic):
            mean = mean + (jnp.mean(jnp.diagonal(h)) - mean) / n
        return mean

    expected, slopes, along = eqx.filter_jit(derivative)(exact, q, directions(q, jr.key(2), 3))
    np.testing.assert_allclose(got, expected, rtol=1e-9)
    measured = jax.vmap(lambda v: dot(along_lambda, v))(along)
    assert jnp.max(jnp.abs(measured - slopes)) < 1e-6 * (1 + size(along_lambda))
    assert size(along_lambda) > 1e-2


@pytest.mark.float64
def test_the_median_distance_and_no_gradient_through_it() -> None:
    target, q = skewed(2).target(), opvi.FullRank(2)
    draws = eqx.filter_jit(draws_of)(q, q.noise(jr.key(1), 9), target)
    z = np.asarray(draws.z)
    distances = [np.linalg.norm(z[i] - z[j]) for i in range(9) for j in range(i)]
    median = float(np.median(distances))
    left_out, given = KernelBall(IMQ()), KernelBall(IMQ(scale=median))

    def supremum(ball: KernelBall, z: jax.Array) -> jax.Array:
        moved = eqx.tree_at(lambda d: d.z, draws, z)
        return ball.supremum(opvi.LangevinStein(), q, (target,), (moved,))

    both = eqx.filter_jit(lambda ball, z: jax.value_and_grad(supremum, 1)(ball, z))
    (a, slope_a), (b, slope_b) = both(left_out, draws.z), both(given, draws.z)
    np.testing.assert_allclose(a, b, rtol=1e-9)
    np.testing.assert_allclose(slope_a, slope_b, rtol=1e-9)


@pytest.mark.parametrize("scale", [0, 0.0, -1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("kernel", [RBF, IMQ, Laplace, Riesz])
def test_a_bandwidth_that_is_no_length_is_refused(kernel, scale) -> None:
    with pytest.raises(opvi.OpviError, match=r"bandwidth above 0[\s\S]*scale=1.0"):
        kernel(scale=scale)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: IMQ(power=0.5), r"-1 < power < 0"),
        (lambda: Riesz(power=2.0), r"0 < power < 2"),
        (lambda: Laplace(smoothing=0.0), "smoothing above 0"),
        (lambda: Riesz(smoothing=-1.0), "smoothing above 0"),
    ],
)
def test_what_is_no_kernel_is_refused(make, message: str) -> None:
    with pytest.raises(opvi.OpviError, match=message):
        make()


def test_pairs_that_have_no_closed_form_are_refused() -> None:
    q = opvi.FullRank(2)
    with pytest.raises(opvi.IncompatibleError, match=r"LangevinStein[\s\S]*Features"):
        opvi.Objective(opvi.DiffusionStein(jnp.eye(2)), KernelBall()).check(q)
    mixture = opvi.FullRankMixture(2, key=jr.key(0), components=2)
    objective = opvi.Objective(opvi.LangevinStein(), KernelBall())
    with pytest.raises(opvi.IncompatibleError, match=r"two batches[\s\S]*TwoBatches\(\)"):
        objective.check(mixture)
    opvi.Objective(opvi.LangevinStein(), KernelBall(statistic=TwoBatches())).check(mixture)
    with pytest.raises(opvi.IncompatibleError, match="no test functions"):
        opvi.Objective(opvi.KL(), KernelBall())


def test_one_draw_has_no_u_statistic() -> None:
    target, q = skewed(1).target(), opvi.MeanField(1)
    draws = draws_of(q, q.noise(jr.key(0), 1), target)
    with pytest.raises(opvi.IncompatibleError, match=r"two draws[\s\S]*draws=256"):
        KernelBall().supremum(opvi.LangevinStein(), q, (target,), (draws,))


def fit(known, family, steps: int, **kwargs) -> float:
    posterior = opvi.fit(
        known.target(),
        family,
        opvi.Objective(opvi.LangevinStein(), KernelBall(IMQ())),
        key=jr.key(0),
        steps=steps,
        progress=False,
        **kwargs,
    )
    assert not posterior.history.skipped.any()
    draws = posterior.family.sample(jr.key(1), 5000)
    return sliced_w1(draws, known.sample(jr.key(2), 5000))


def test_a_fit_of_a_correlated_gaussian() -> None:
    """From N(0, I), 2.1 away; the floor of this distance is .02."""
    estimator = opvi.Reparameterised(128)
    distance = fit(gaussian(2), opvi.FullRank, 2000, learning_rate=3e-2, estimator=estimator)
    assert distance < 0.08


@pytest.mark.parametrize(
    ("estimator", "width", "steps"),
    [(opvi.Reparameterised(256), 64, 1500), (opvi.FunctionalGradient(128), 24, 800)],
    ids=["own", "pushed"],
)
def test_a_fit_of_a_banana(estimator: opvi.AbstractEstimator, width: int, steps: int) -> None:
    """A Gaussian fitted by KL is .22 away; the floor is about .03."""
    program = opvi.SemiImplicitProgram(2, key=jr.key(3), width=width)
    assert fit(banana(), program, steps, estimator=estimator) < 0.1
