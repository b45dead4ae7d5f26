"""The two modes of the model: any number of everything, or a small domain.

The proof quantifies; the paths write each quantifier out over the small domain, so that
they are decided, and a path that is found is one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, product
from typing import Any, Final

import z3

NUMBER: Final = "number"
KEY: Final = "key"
WORKER: Final = "worker"
OPERATOR: Final = "operator"

SMALL: Final = {NUMBER: range(8), KEY: range(3), WORKER: range(2), OPERATOR: range(2)}
"""Numbers from 0, which none is, to the one after the sixth."""

HASH: Final = z3.DeclareSort("Hash")
NO_CHAIN: Final = z3.Const("no_chain", HASH)

YES: Final = z3.BoolVal(val=True)
NO: Final = z3.BoolVal(val=False)

Term = Any
"""A term or a formula of Z3, which knows no types of Python's."""


@dataclass
class Domain:
    """Any number of numbers, keys, workers and operators."""

    sorts: Mapping[str, Any] = field(
        default_factory=lambda: {
            NUMBER: z3.IntSort(),
            **{kind: z3.DeclareSort(kind) for kind in (KEY, WORKER, OPERATOR)},
        }
    )
    serial: Any = field(default_factory=count)
    depth: int = 0
    """Of the quantifier that is written now: equal formulas get equal names."""

    def __post_init__(self) -> None:
        self.hash = z3.Function("hash", HASH, self.sorts[KEY], z3.IntSort(), HASH)

    def fresh(self, kind: str) -> Term:
        """Return a new constant."""
        return z3.Const(f"{kind}{next(self.serial)}", self.sorts[kind])

    def fresh_hash(self) -> Term:
        """Return a new constant: a hash."""
        return z3.Const(f"hash{next(self.serial)}", HASH)

    def function(self, *kinds: Any, name: str = "f") -> Any:
        """Return a new function from kinds to a kind, or to a sort of Z3."""
        sorts = [self.sorts.get(kind, kind) for kind in kinds]
        return z3.Function(f"{name}{next(self.serial)}", *sorts)

    def every(self, kinds: Sequence[str], formula: Callable[..., Term]) -> Term:
        """Return that a formula holds for all."""
        names = [f"{kind}_{self.depth}_{place}" for place, kind in enumerate(kinds)]
        self.depth += 1
        bound = [
            z3.Const(*pair)
            for pair in zip(names, map(self.sorts.get, kinds), strict=True)
        ]
        body = formula(*bound)
        self.depth -= 1
        return z3.ForAll(bound, body)

    def some(self, kinds: Sequence[str], formula: Callable[..., Term]) -> Term:
        """Return that a formula holds for some."""
        return z3.Not(self.every(kinds, lambda *bound: z3.Not(formula(*bound))))


class SmallDomain(Domain):
    """Two workers, two operators, three keys, six numbers."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(SMALL, z3.IntSort()))
        self.bounds: list[Term] = []

    def fresh(self, kind: str) -> Term:
        """Return a new constant, and bound it."""
        constant = super().fresh(kind)
        first, last = SMALL[kind][0], SMALL[kind][-1]
        self.bounds.append(z3.And(first <= constant, constant <= last))
        return constant

    def every(self, kinds: Sequence[str], formula: Callable[..., Term]) -> Term:
        """Write the quantifier out."""
        values = product(*(map(z3.IntVal, SMALL[kind]) for kind in kinds))
        return z3.And([formula(*chosen) for chosen in values])


class Instances(SmallDomain):
    """Keeps the instances of a formula's outermost quantifier apart."""

    def __init__(self) -> None:
        """Keep none yet."""
        super().__init__()
        self.kinds: Sequence[str] = ()
        self.of: list[tuple[tuple[int, ...], Term]] = []

    def every(self, kinds: Sequence[str], formula: Callable[..., Term]) -> Term:
        """Write the quantifier out, and keep its instances if it is the outermost."""
        if self.depth:
            return super().every(kinds, formula)
        self.depth += 1
        self.kinds = kinds
        self.of = [
            (chosen, formula(*map(z3.IntVal, chosen)))
            for chosen in product(*(SMALL[kind] for kind in kinds))
        ]
        self.depth -= 1
        return z3.And([instance for _, instance in self.of])
