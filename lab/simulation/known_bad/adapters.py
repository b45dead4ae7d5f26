"""Known-bad adapters of DynamoDB, SNS and SQS, and a correct one that costs more."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from simulation.aws.lambda_service import Handler
from simulation.aws.tables import KEYS, TICKETS
from simulation.execution_environment import ExecutionEnvironment
from ticket_numbering.adapters.batch_api import MAX_BATCH_ENTRIES
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.adapters.sns_publisher import SNSPublisher, _entry
from ticket_numbering.adapters.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.allocation.allocation import TimeLeft
from ticket_numbering.allocation.block import Block
from ticket_numbering.contract.dynamodb_items import assignment
from ticket_numbering.contract.errors import (
    AnnouncementError,
    DamagedKeyRecordError,
    DeadLetterError,
    PoisonMessageError,
)
from ticket_numbering.contract.messages import Assignment, CreateTicket, RequestKey
from ticket_numbering.worker.ports import Announcement, DeadLetter


class SilentReplays(SNSPublisher):
    """Takes what was recorded for announced."""

    def publish(
        self, announcements: Sequence[Announcement], time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        """Announce what is new."""
        new = [
            announcement for announcement in announcements if not announcement.replayed
        ]
        return super().publish(new, time_left)


class DeafPublisher(SNSPublisher):
    """Takes the answer 200 for a success of every entry."""

    def publish(
        self, announcements: Sequence[Announcement], time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        """Publish, and ignore the answer."""
        del time_left
        for start in range(0, len(announcements), MAX_BATCH_ENTRIES):
            batch = announcements[start : start + MAX_BATCH_ENTRIES]
            entries: Any = [
                {"Id": str(position), **_entry(announcement, fifo=False).content}
                for position, announcement in enumerate(batch)
            ]
            self._client.publish_batch(
                TopicArn=self._topic_arn, PublishBatchRequestEntries=entries
            )
        return {}


@dataclass
class HastyDeadLetters:
    """Deletes a poison message, and then sends it to the dead-letter queue."""

    source: Any
    real: SQSDeadLetters

    def send(
        self, letters: Sequence[DeadLetter], time_left: TimeLeft
    ) -> dict[str, DeadLetterError]:
        """Send what is no longer on the queue."""
        for letter in letters:
            self.source.delete_message(
                QueueUrl="queue", ReceiptHandle=letter.record.message_id
            )
        return self.real.send(letters, time_left)


def deleting_too_early(environment: ExecutionEnvironment) -> Handler:
    """Build the worker with the hasty dead letters."""
    hasty = HastyDeadLetters(environment.source, environment.dead_letters())
    return environment.handler(dead_letters=hasty)


class StaleAndTrusted(DynamoDBTicketStore):
    """Reads the last number as it was, and writes without a condition."""

    def last_number(self, project_id: str) -> int:
        """Return what was the highest number a while ago."""
        page = self._client.query(
            TableName=TICKETS,
            KeyConditionExpression="project_id = :project",
            ExpressionAttributeValues={":project": {"S": project_id}},
            ScanIndexForward=False,
            Limit=1,
        )
        return next((int(item["number"]["N"]) for item in page["Items"]), 0)

    def _puts(self, block: Block) -> Any:
        for put in super()._puts(block):
            if put["Put"]["TableName"] == TICKETS:
                del put["Put"]["ConditionExpression"]
            yield put


class StaleAndChecked(StaleAndTrusted):
    """Reads the last number as it was, and relies on the condition: correct."""

    def _puts(self, block: Block) -> Any:
        return DynamoDBTicketStore._puts(self, block)  # noqa: SLF001 - the grandparent's.


class RefusesUnseen(DynamoDBTicketStore):
    """Refuses a capped request without a look at its key."""

    def read_keys_in_transaction(
        self, keys: Any
    ) -> dict[RequestKey, Assignment | DamagedKeyRecordError]:
        """Return nothing."""
        del keys
        return {}


class RefusesHalfSeen(DynamoDBTicketStore):
    """Reads the key of a capped request outside a transaction."""

    def read_keys_in_transaction(
        self, keys: Any
    ) -> dict[RequestKey, Assignment | DamagedKeyRecordError]:
        """Return what can be seen of transactions that are half written."""
        return self.read_keys(keys)


class KeyedByMessageId(DynamoDBTicketStore):
    """Takes the id that SQS gave the message for the identity of the request."""

    ids: Mapping[RequestKey, str] = {}

    def read_keys(
        self, keys: Any
    ) -> dict[RequestKey, Assignment | DamagedKeyRecordError]:
        """Return what is recorded of these messages."""
        by_id = {self.ids[key]: key for key in keys}
        wanted = [{"id": {"S": message_id}} for message_id in by_id]
        answer = self._client.batch_get_item(
            RequestItems={KEYS: {"Keys": wanted, "ConsistentRead": True}}
        )
        items = answer["Responses"].get(KEYS, [])
        return {by_id[item["id"]["S"]]: assignment(item) for item in items}

    def _puts(self, block: Block) -> Any:
        ids = [self.ids[request.key] for request in block.requests]
        for position, put in enumerate(super()._puts(block)):
            if put["Put"]["TableName"] == KEYS:
                item = {**put["Put"]["Item"], "id": {"S": ids[position // 2]}}
                put = {"Put": {**put["Put"], "Item": item}}  # noqa: PLW2901
            yield put


def keyed_by_message_id(environment: ExecutionEnvironment) -> Handler:
    """Build the worker with that store."""
    store = KeyedByMessageId(environment.dynamodb, TICKETS, KEYS)
    real = environment.handler(store=lambda *_: store)

    def handle(event: dict[str, Any], context: Any) -> Any:
        ids: dict[RequestKey, str] = {}
        for record in event["Records"]:
            with suppress(PoisonMessageError):
                request = CreateTicket.parse(record["body"])
                ids[request.key] = record["messageId"]
        store.ids = ids
        return real(event, context)

    return handle


def deleting_the_top(environment: ExecutionEnvironment) -> Handler:
    """Delete the newest ticket before some invocations."""
    real = environment.handler()
    store = environment.store()

    def handle(event: dict[str, Any], context: Any) -> Any:
        if environment.choices.chance(0.2):
            with suppress(Exception):
                if number := store.last_number("P0"):
                    key = {"project_id": {"S": "P0"}, "number": {"N": str(number)}}
                    environment.dynamodb.delete_item(TableName=TICKETS, Key=key)
        return real(event, context)

    return handle
