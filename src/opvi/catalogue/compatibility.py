"""`compatibility`: which pieces go together, and what stands in the way of the others."""

from collections.abc import Callable, Iterator, Mapping

import equinox as eqx
import jax
import jax.random as jr

from opvi._core.errors import IncompatibleError
from opvi._core.types import Key
from opvi.catalogue import pieces
from opvi.catalogue.table import Compatibility, Row
from opvi.estimators import AbstractEstimator
from opvi.families import AbstractFamily
from opvi.objective import Objective


def compatibility(
    *,
    operators: Mapping[str, Callable] = pieces.OPERATORS,
    test_functions: Mapping[str, Callable] = pieces.TEST_FUNCTIONS,
    distances: Mapping[str, Callable] = pieces.DISTANCES,
    families: Mapping[str, Callable[[Key], AbstractFamily]] = pieces.FAMILIES,
    estimators: Mapping[str, Callable] = pieces.ESTIMATORS,
) -> Compatibility:
    """Every operator, class of test functions, distance, family and estimator: do they go together?

    Nothing is written down here: the pieces are put together and their own checks say, the same that
    `Objective(...)` and `fit` run. For what is refused a row has the condition that fails, and the
    nearest pieces that work.

        print(opvi.compatibility())                                    # all of it
        print(opvi.compatibility(families={"mine": lambda key: MyFamily(2, key=key)}))

    **Arguments:** rows as in `opvi.catalogue.pieces`, in the place of those of the package.
    """
    qs = {name: _shape(make) for name, make in families.items()}
    ways = {name: make() for name, make in estimators.items()}
    rows = []
    for operator, make in operators.items():
        o = make()
        for f, make_f in test_functions.items():
            for distance, make_t in distances.items():
                names = (operator, f, distance)
                try:
                    objective = Objective(o, make_f(o), make_t(o))
                except IncompatibleError as error:
                    rows.append(Row(*names, condition=error.expected))
                    continue
                rows.extend(_rows(names, objective, qs, ways))
    return Compatibility(tuple(rows))


def _rows(
    names: tuple[str, str, str],
    objective: Objective,
    families: Mapping[str, AbstractFamily],
    estimators: Mapping[str, AbstractEstimator],
) -> Iterator[Row]:
    for name, q in families.items():
        failed = _condition(lambda q=q: objective.check(q))
        if failed is not None:
            yield Row(*names, name, condition=failed)
            continue
        ways = tuple(
            (way, _condition(lambda q=q, e=e: e.check(objective, q)))
            for way, e in estimators.items()
        )
        works = any(missing is None for _, missing in ways)
        yield Row(*names, name, ways=ways, condition=None if works else ways[0][1])


def _condition(check: Callable[[], None]) -> str | None:
    """What was expected, where the check raises."""
    try:
        check()
    except IncompatibleError as error:
        return error.expected
    return None


def _shape(make: Callable[[Key], AbstractFamily]) -> AbstractFamily:
    """The family with shapes for arrays: enough for every check, and nothing is computed."""
    try:
        return eqx.filter_eval_shape(lambda: make(jr.key(0)))
    except jax.errors.ConcretizationTypeError:  # a spline of flowjax can only be made for real
        return make(jr.key(0))
