"""Writes several items or none, and tries again while others are in the way."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from botocore.exceptions import ClientError

from ticketctl.cli.errors import BusyError
from ticketctl.system.aws_errors import error_code

CONDITION_FAILED: Final = "ConditionalCheckFailed"

Put = Mapping[str, Any]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Refusal:
    """Why one put of a cancelled transaction stood in its way, if it did."""

    code: str
    item: Mapping[str, Any] | None = None
    """What is there, where the put asked for it."""

    @property
    def is_condition(self) -> bool:
        """Whether there is an item that the put's condition rules out."""
        return self.code == CONDITION_FAILED


def transact(dynamodb: Any, puts: Sequence[Put]) -> list[Refusal]:
    """Write all of it or nothing.

    Returns:
        Nothing if it is written; else a refusal for each put. DynamoDB may leave out
        that it refused one, if it refused another.

    Raises:
        ClientError: DynamoDB refused for another reason than those of the puts.
    """
    try:
        dynamodb.transact_write_items(TransactItems=[{"Put": put} for put in puts])
    except ClientError as error:
        if error_code(error) != "TransactionCanceledException":
            raise
        answer: Mapping[str, Any] = error.response
        reasons = answer.get("CancellationReasons", [])
        return [Refusal(each["Code"], each.get("Item")) for each in reasons]
    return []


@dataclass(frozen=True)
class Pace:
    """How often to try, and how long to pause in between."""

    tries: int = 40
    """With these pauses, half a minute on average."""
    shortest: float = 0.05
    longest: float = 2.0
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[float, float], float] = random.uniform

    def until(self, attempt: Callable[[], Result | None], obstacle: str) -> Result:
        """Return the first result of an attempt that has one.

        Raises:
            BusyError: None had, for that reason.
        """
        for number in range(self.tries):
            if (result := attempt()) is not None:
                return result
            # Full jitter: those who met now shall not meet again.
            self.sleep(self.jitter(0.0, min(self.longest, self.shortest * 2**number)))
        message = f"{obstacle}, {self.tries} times in a row; run it again"
        raise BusyError(message)
