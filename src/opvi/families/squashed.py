"""A family squashed into a domain: how q lives on a bounded support."""

import equinox as eqx

from opvi._core.domains import AbstractDomain
from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Key, Noise, Vector
from opvi.families._base import AbstractReparameterisedFamily, AbstractWeightedFamily


class Squashed(AbstractReparameterisedFamily):
    """z = squash(y), y from `base`: a program on the inside of `domain`.

    For `VanishingTestFunction`, which compares densities on the domain itself. The other way is a
    change of variables in the target (`from_log_density(..., supports=...)`), with any family.
    """

    base: AbstractReparameterisedFamily
    domain: AbstractDomain
    dim: int = eqx.field(static=True)

    def __init__(self, base: AbstractReparameterisedFamily, domain: AbstractDomain):
        require(
            not isinstance(base, AbstractWeightedFamily),
            IncompatibleError,
            expected="a family without mixture weights to squash",
            got=f"{type(base).__name__}",
            write="Squashed(MLPProgram(dim, key=key), domain)",
        )
        self.base, self.domain, self.dim = base, domain, base.dim

    def noise(self, key: Key, n: int) -> Noise:
        return self.base.noise(key, n)

    def transform(self, eps: Noise) -> Vector:
        return self.domain.squash(self.base.transform(eps))
