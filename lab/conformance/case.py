"""A case of the conformance suite: the behaviour of AWS, and a backend's other one.

AWS was observed to do it, or documents it. A public suite runs each of its cases on
DynamoDB before it keeps them: github.com/paritysuite/dynamodb-conformance, under its
earlier owner nubo-db at commit 0ba4393 (MIT) and at later ones up to 3aebbc9 (Apache
2.0). Its expectations were taken, not its code. It runs one call at a time, so that it
shows no conflict.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.backends import Backend

INVALID: Final = "ValidationException"
CANCELLED: Final = "TransactionCanceledException"
FAILED: Final = "ConditionalCheckFailed"
CONFLICT: Final = "TransactionConflict"


@dataclass(frozen=True, slots=True)
class Case:
    """Calls, and their outcome."""

    name: str
    outcome: Callable[[Backend], Any]
    aws: Any
    observed: str = ""
    """The file of the public suite that has the case; none: it is only documented."""
    instead: Mapping[str, Any] = field(default_factory=dict)
    """The outcome on each backend that does something else than AWS."""

    def expected(self, backend: str) -> Any:
        """Return the outcome that the backend is known to have."""
        return self.instead.get(backend, self.aws)
