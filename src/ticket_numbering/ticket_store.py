"""The DynamoDB adapter: last number, recorded keys, one block in one transaction."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from boto3.dynamodb.types import TypeSerializer
from botocore.exceptions import ClientError

from ticket_numbering.aws_errors import code_of, translated
from ticket_numbering.errors import StoreUnavailableError
from ticket_numbering.messages import CreateTicket, RequestKey
from ticket_numbering.store_port import (
    Assignment,
    Block,
    Cancelled,
    Committed,
    Reason,
    Refused,
    Slot,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

MAX_KEYS_PER_READ: Final = 100
"""BatchGetItem takes 100 keys; see its API reference."""

ACTIONS_PER_REQUEST: Final = 2

REASONS: Final = {
    # TransactWriteItems API reference, "TransactionCanceledException".
    "None": Reason.NONE,
    "ConditionalCheckFailed": Reason.CONDITION_FAILED,
    "TransactionConflict": Reason.CONFLICT,
    "ProvisionedThroughputExceeded": Reason.THROTTLED,
    "ThrottlingError": Reason.THROTTLED,
    "ValidationError": Reason.INVALID,
}

_serialize = TypeSerializer().serialize


class DynamoDBTicketStore:
    """Keeps tickets and idempotency keys in their two tables."""

    def __init__(
        self,
        client: "DynamoDBClient",
        tickets_table: str,
        keys_table: str,
        retention_days: int = 0,
    ) -> None:
        self._client = client
        self._tickets_table = tickets_table
        self._keys_table = keys_table
        self._retention = timedelta(days=retention_days)

    def last_number(self, project_id: str) -> int:
        """Return the project's highest sort key, read consistently; 0 if none.

        Raises:
            StoreUnavailableError: DynamoDB throttled, failed or did not answer.
        """
        with translated(StoreUnavailableError, "Query of the last number"):
            page = self._client.query(
                TableName=self._tickets_table,
                KeyConditionExpression="project_id = :project",
                ExpressionAttributeValues={":project": {"S": project_id}},
                ProjectionExpression="#number",
                ExpressionAttributeNames={"#number": "number"},
                ScanIndexForward=False,
                Limit=1,
                ConsistentRead=True,
            )
        return next((int(item["number"]["N"]) for item in page["Items"]), 0)

    def recorded(self, keys: Collection[RequestKey]) -> dict[RequestKey, Assignment]:
        """Return the recorded assignments; leaves out what DynamoDB did not process.

        Raises:
            StoreUnavailableError: DynamoDB throttled, failed or did not answer.
        """
        found: dict[RequestKey, Assignment] = {}
        for some in _chunks(keys, MAX_KEYS_PER_READ):
            with translated(StoreUnavailableError, "lookup of idempotency keys"):
                answer = self._client.batch_get_item(
                    RequestItems={
                        self._keys_table: {
                            "Keys": [{"id": {"S": _id(key)}} for key in some],
                            "ConsistentRead": True,
                        }
                    }
                )
            for item in answer["Responses"].get(self._keys_table, []):
                key = RequestKey(item["project_id"]["S"], item["idempotency_key"]["S"])
                found[key] = _assignment(item)
        return found

    def write_block(self, block: Block) -> Committed | Cancelled | Refused:
        """Write the block's tickets and keys in one transaction.

        botocore gives every retry of the call the same ClientRequestToken, so an
        answer lost between them does not turn a success into a failed condition.

        Raises:
            StoreUnavailableError: DynamoDB throttled, failed or did not answer;
                whether the block is committed is unknown.
        """
        numbered = enumerate(block.requests, block.first_number)
        actions = [
            action
            for number, request in numbered
            for action in self._actions(request, number, block.assigned_at)
        ]
        try:
            with translated(StoreUnavailableError, "write of a block"):
                self._client.transact_write_items(TransactItems=actions)
        except self._client.exceptions.TransactionCanceledException as error:
            return Cancelled(_slots(error.response, len(block.requests)))
        except ClientError as error:
            # Too large as a whole or in one item; comes without reasons.
            if code_of(error) != "ValidationException":
                raise
            return Refused(code_of(error))
        return Committed()

    def _actions(
        self, request: CreateTicket, number: int, assigned_at: str
    ) -> Iterator["TransactWriteItemTypeDef"]:
        ticket = request.model_dump(exclude_defaults=True) | {
            "number": number,
            "priority": request.priority,
            "assigned_at": assigned_at,
        }
        yield {
            "Put": {
                "TableName": self._tickets_table,
                "Item": _serialize(ticket)["M"],
                "ConditionExpression": "attribute_not_exists(project_id)",
            }
        }
        yield {
            "Put": {
                "TableName": self._keys_table,
                "Item": _serialize(self._key_item(request, number, assigned_at))["M"],
                "ConditionExpression": "attribute_not_exists(id)",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        }

    def _key_item(
        self, request: CreateTicket, number: int, assigned_at: str
    ) -> dict[str, str | int]:
        item: dict[str, str | int] = {
            "id": _id(request.key),
            "project_id": request.project_id,
            "idempotency_key": request.idempotency_key,
            "number": number,
            "fingerprint": request.fingerprint,
            "assigned_at": assigned_at,
        }
        if self._retention:
            expiry = datetime.fromisoformat(assigned_at) + self._retention
            item["expires_at"] = int(expiry.timestamp())
        return item


def _id(key: RequestKey) -> str:
    """Join the key's parts; a project id has no `#`, so no two keys share an id."""
    return f"{key.project_id}#{key.idempotency_key}"


def _assignment(item: Mapping[str, Any]) -> Assignment:
    return Assignment(
        number=int(item["number"]["N"]),
        fingerprint=item["fingerprint"]["S"],
        assigned_at=item["assigned_at"]["S"],
        replayed=True,
    )


def _slots(response: Mapping[str, Any], requests: int) -> list[Slot]:
    """Read the reasons by position: a ticket's, then its key's, request by request."""
    reasons = response.get("CancellationReasons", [])
    if len(reasons) != ACTIONS_PER_REQUEST * requests:
        return [Slot(Reason.UNKNOWN, Reason.UNKNOWN)] * requests
    return [
        _slot(ticket, key)
        for ticket, key in zip(reasons[::2], reasons[1::2], strict=True)
    ]


def _slot(ticket: Mapping[str, Any], key: Mapping[str, Any]) -> Slot:
    recorded = _assignment(key["Item"]) if key.get("Item") else None
    key_reason = _reason(key)
    if key_reason is Reason.CONDITION_FAILED and recorded is None:
        key_reason = Reason.UNKNOWN
    return Slot(_reason(ticket), key_reason, recorded)


def _reason(cancellation: Mapping[str, Any]) -> Reason:
    return REASONS.get(cancellation.get("Code", ""), Reason.UNKNOWN)


def _chunks(keys: Collection[RequestKey], size: int) -> Iterator[list[RequestKey]]:
    remaining: Sequence[RequestKey] = list(keys)
    while remaining:
        yield list(islice(remaining, size))
        remaining = remaining[size:]
