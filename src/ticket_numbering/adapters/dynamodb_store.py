"""The DynamoDB adapter: reads heads and keys, writes a block in one transaction."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from boto3.dynamodb.types import TypeSerializer
from botocore.exceptions import ClientError

from ticket_numbering.adapters.aws_errors import (
    code_of,
    member,
    translated,
)
from ticket_numbering.adapters.cancellation_reasons import head_of, reason_of, slots_of
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.cancellation import kind_of
from ticket_numbering.allocation.store import BlockInvalid, Cancelled, Committed
from ticket_numbering.contract import aws_codes
from ticket_numbering.contract.dynamodb_items import (
    HEAD_ATTRIBUTES,
    RECORD_ID,
    assignment,
    key_id,
    key_item,
    record_id,
    ticket_item,
    ticket_number,
)
from ticket_numbering.contract.errors import DamagedKeyRecordError
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import Assignment, RequestKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

Item = Mapping[str, Any]

_HEAD_NAMES: Final = {f"#{name}": name for name in HEAD_ATTRIBUTES}


class DynamoDBTicketStore:
    """Stores tickets and idempotency keys in two tables; see `TicketStore`."""

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
        # botocore builds these classes at first use, without a lock: threads whose
        # first cancellations coincide would catch different classes.
        self._canceled = client.exceptions.TransactionCanceledException

    def head(self, project_id: str) -> Head:
        """Return the item with the project's highest sort key, read consistently."""
        with translated("Query of the last number"):
            page = self._client.query(
                TableName=self._tickets_table,
                KeyConditionExpression="project_id = :project",
                ExpressionAttributeValues={":project": {"S": project_id}},
                ProjectionExpression=", ".join(_HEAD_NAMES),
                ExpressionAttributeNames=_HEAD_NAMES,
                ScanIndexForward=False,
                Limit=1,
                ConsistentRead=True,
            )
            items = member(page, "Items")
        if not items:
            return Head()
        return head_of(ticket_number(project_id, items[0]), items[0])

    def read_keys(
        self, keys: Collection[RequestKey]
    ) -> dict[RequestKey, Assignment | DamagedKeyRecordError]:
        """Return the recorded assignments, without keys that DynamoDB left out."""
        by_id = {key_id(key): key for key in keys}
        with translated("lookup of idempotency keys"):
            answer = self._client.batch_get_item(
                RequestItems={
                    self._keys_table: {
                        "Keys": [*map(record_id, by_id.values())],
                        "ConsistentRead": True,
                    }
                }
            )
            responses = member(answer, "Responses")
        items = responses.get(self._keys_table, [])
        return {by_id[item[RECORD_ID]["S"]]: assignment(item) for item in items}

    def read_keys_in_transaction(
        self, keys: Sequence[RequestKey]
    ) -> dict[RequestKey, Assignment | DamagedKeyRecordError]:
        """Return the recorded assignments, read in a transaction."""
        action = "transactional lookup of idempotency keys"
        try:
            with translated(action):
                answer = self._client.transact_get_items(
                    TransactItems=[
                        {"Get": {"TableName": self._keys_table, "Key": record_id(key)}}
                        for key in keys
                    ]
                )
                responses = member(answer, "Responses")
        except self._canceled as error:
            cancellation: Item = {**error.response}
            reasons = {*map(reason_of, cancellation.get("CancellationReasons", ()))}
            raise kind_of(reasons)(f"{action}: {code_of(error)}") from error
        return {
            key: assignment(response["Item"])
            for key, response in zip(keys, responses, strict=True)
            if response.get("Item")
        }

    def write_block(self, block: Block) -> Committed | Cancelled | BlockInvalid:
        """Write the block's tickets and keys in one transaction.

        botocore gives every retry of the call the same ClientRequestToken, so a lost
        response does not turn a success into a failed condition.
        """
        with translated("write of a block"):
            try:
                self._client.transact_write_items(TransactItems=[*self._puts(block)])
            except self._canceled as error:
                return Cancelled(slots_of(error.response, block))
            except ClientError as error:
                # Too large as a whole or in one item; the error has no reasons.
                if code_of(error) != aws_codes.INVALID_REQUEST:
                    raise
                return BlockInvalid(code_of(error))
        return Committed()

    def _puts(self, block: Block) -> Iterator["TransactWriteItemTypeDef"]:
        """Yield each ticket, then its key: `slots_of` reads reasons in this order."""
        for request, assigned, salt in block.tickets:
            expires_at = self._expiry(assigned.assigned_at)
            ticket = ticket_item(request, assigned, salt)
            yield _put_new(self._tickets_table, ticket, "project_id")
            record = key_item(request.key, assigned, expires_at)
            yield _put_new(self._keys_table, record, RECORD_ID)

    def _expiry(self, assigned_at: str) -> int | None:
        """Return the expiry of a key's record in epoch seconds; None for never."""
        if not self._retention:
            return None
        expiry = datetime.fromisoformat(assigned_at) + self._retention
        return int(expiry.timestamp())


def _put_new(table: str, item: Item, key: str) -> "TransactWriteItemTypeDef":
    """Return a put that fails if the item exists; the failure returns the old item."""
    return {
        "Put": {
            "TableName": table,
            "Item": serialized(item),
            "ConditionExpression": f"attribute_not_exists({key})",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }


def serialized(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain values as an item in DynamoDB's types."""
    serialize = TypeSerializer().serialize
    return {name: serialize(value) for name, value in fields.items()}
