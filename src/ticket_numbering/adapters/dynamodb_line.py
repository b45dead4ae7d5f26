"""The adapter of the line: each project has an item with hints, which expires."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import time
from typing import TYPE_CHECKING, Final, NamedTuple

from botocore.exceptions import ClientError

from ticket_numbering.adapters.aws_errors import (
    NO_ANSWER,
    code_of,
    is_rejection,
    member,
)
from ticket_numbering.allocation.place import Place
from ticket_numbering.contract.errors import StoreRefusedError, StoreUnavailableError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

EXPIRES_AFTER_SECONDS: Final = 86_400
"""Long after the last worker in line; a missing line restarts at the head."""

_ADD: Final = "ADD upto :count, given_up :given_up SET expires_at = :expires_at"
_START: Final = "SET upto = :count, expires_at = :expires_at ADD given_up :given_up"
_VALUES: Final = (":count", ":given_up", ":seen", ":expires_at")


class Line(NamedTuple):
    """The item of a project's line."""

    upto: int
    given_up: int
    is_done: bool
    """Whether the update took effect."""


class DynamoDBLine:
    """Counts the requested numbers, by a client of one attempt; see `LineStore`."""

    def __init__(
        self, client: "DynamoDBClient", table: str, clock: Callable[[], float] = time
    ) -> None:
        self._client, self._table, self._clock = client, table, clock
        self._condition_failed = client.exceptions.ConditionalCheckFailedException

    def take(self, project_id: str, head: int, count: int) -> Place:
        """Add to the line's end; if it is missing or behind, start at the head."""
        line = self._update(project_id, _ADD, "upto >= :seen", (count, 0, head))
        if not line.is_done:
            is_behind = "attribute_not_exists(upto) OR upto < :seen"
            line = self._update(project_id, _START, is_behind, (head + count, 0, head))
        # Where another worker has begun it meanwhile, the place is behind its own.
        end = line.upto if line.is_done else line.upto + count
        return Place(end - count, end, line.given_up)

    def give_up(self, project_id: str, given_up: int, count: int) -> int:
        """Remove numbers from the line's end, unless others have."""
        is_same = "given_up = :seen"
        line = self._update(project_id, _ADD, is_same, (-count, count, given_up))
        return line.given_up

    def _update(
        self, project_id: str, update: str, condition: str, numbers: Iterable[int]
    ) -> Line:
        """Return the line after the update, or as it is if the condition failed.

        The numbers are the values of `:count`, `:given_up` and `:seen`.
        """
        expires_at = int(self._clock()) + EXPIRES_AFTER_SECONDS
        values = zip(_VALUES, (*numbers, expires_at), strict=True)
        with _failures_translated():
            try:
                answer = self._client.update_item(
                    TableName=self._table,
                    Key={"project_id": {"S": project_id}},
                    UpdateExpression=update,
                    ConditionExpression=condition,
                    ExpressionAttributeValues={
                        name: {"N": str(number)} for name, number in values
                    },
                    ReturnValues="ALL_NEW",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
                is_done, item = True, member(answer, "Attributes")
            except self._condition_failed as error:
                is_done, item = False, error.response.get("Item", {})
            upto, given_up = (
                int(item[name]["N"]) if name in item else 0
                for name in ("upto", "given_up")
            )
            return Line(upto, given_up, is_done)


@contextmanager
def _failures_translated() -> Iterator[None]:
    """Translate every failure: without the line workers only back off.

    Raises:
        StoreRefusedError: A right or the table is missing.
        StoreUnavailableError: Any other failure, including another program's item.
    """
    try:
        yield
    except ClientError as error:
        kind = StoreRefusedError if is_rejection(error) else StoreUnavailableError
        raise kind(f"line of a project: {code_of(error)}") from error
    except (KeyError, ValueError, *NO_ANSWER) as error:
        raise StoreUnavailableError("line of a project") from error
