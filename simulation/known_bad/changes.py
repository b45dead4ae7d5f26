"""Known-bad algorithms that change one thing in the shipped code."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from simulation.aws.lambda_service import Handler
from simulation.execution_environment import ExecutionEnvironment, as_boto3
from simulation.monitor import KEYS, TICKETS
from ticket_numbering.batch_api import MAX_BATCH_ENTRIES
from ticket_numbering.cancellation import NextStep, next_step
from ticket_numbering.dynamodb_items import assignment
from ticket_numbering.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.errors import (
    AnnouncementError,
    DamagedKeyRecordError,
    DeadLetterError,
    PoisonMessageError,
)
from ticket_numbering.handler import build_handler
from ticket_numbering.messages import Assignment, CreateTicket, RequestKey, ticket_key
from ticket_numbering.ports import (
    Announcement,
    Block,
    DeadLetter,
    Reason,
    Slot,
    TimeLeft,
)
from ticket_numbering.sns_publisher import SNSPublisher, _entry
from ticket_numbering.sqs_dead_letters import SQSDeadLetters

Decision = Callable[[Block, Sequence[Slot]], NextStep]


def increment_on_any_cancellation(block: Block, slots: Sequence[Slot]) -> NextStep:
    """Take somebody's attempt for a number that is taken."""
    return replace(next_step(block, slots), number=block.first_number + 1)


def conflict_is_taken(block: Block, slots: Sequence[Slot]) -> NextStep:
    """Take a number that somebody is trying for one that is taken."""
    taken = [
        replace(slot, ticket=Reason.CONDITION_FAILED)
        if slot.ticket is Reason.CONFLICT
        else slot
        for slot in slots
    ]
    return next_step(block, taken)


def increment_by_block_length(block: Block, slots: Sequence[Slot]) -> NextStep:
    """Take the whole block for taken when its first number is."""
    step = next_step(block, slots)
    if step.collided and not step.obstacle:
        return replace(step, number=block.next_number)
    return step


def deciding(decide: Decision) -> Callable[[ExecutionEnvironment], Handler]:
    """Build the worker with another decision after a cancelled block."""

    def build(environment: ExecutionEnvironment) -> Handler:
        allocator = replace(environment.allocator(environment.store()), decide=decide)
        return build_handler(environment.worker(allocator=allocator))

    return build


class StaleAndTrusted(DynamoDBTicketStore):
    """Reads the last number as it was, and writes without looking."""

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
    """Reads the last number as it was, and lets the condition tell: not wrong."""

    def _puts(self, block: Block) -> Any:
        return DynamoDBTicketStore._puts(self, block)  # noqa: SLF001 - the grandparent's.


class KeyedByMessageId(DynamoDBTicketStore):
    """Takes the id that SQS gave the message for the identity of the request."""

    ids: Mapping[RequestKey, str] = {}

    def recorded(
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


def with_store(
    kind: type[DynamoDBTicketStore],
) -> Callable[[ExecutionEnvironment], Handler]:
    """Build the worker with another store."""
    return lambda environment: build_handler(
        environment.worker(
            allocator=environment.allocator(
                kind(as_boto3(environment.dynamodb), TICKETS, KEYS)
            )
        )
    )


def keyed_by_message_id(environment: ExecutionEnvironment) -> Handler:
    """Build the worker with a store that knows messages, not requests."""
    store = KeyedByMessageId(as_boto3(environment.dynamodb), TICKETS, KEYS)
    real = build_handler(environment.worker(allocator=environment.allocator(store)))

    def handle(event: dict[str, Any], context: Any) -> Any:
        ids: dict[RequestKey, str] = {}
        for record in event["Records"]:
            with suppress(PoisonMessageError):
                request = CreateTicket.parse(record["body"])
                ids[request.key] = record["messageId"]
        store.ids = ids
        return real(event, context)

    return handle


class SilentReplays(SNSPublisher):
    """Takes what was recorded for announced."""

    def publish(
        self, announcements: Sequence[Announcement], time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        """Announce what is new."""
        fresh = [each for each in announcements if not each.replayed]
        return super().publish(fresh, time_left)


def leaving_replays_to_the_holder(environment: ExecutionEnvironment) -> Handler:
    """Build the worker so that it leaves a replay beside a conflict unannounced.

    It takes whoever holds the ticket's number for the one that will announce it.
    """
    left: set[str] = set()
    attempted: set[RequestKey] = set()

    def decide(block: Block, slots: Sequence[Slot]) -> NextStep:
        keys = {request.key for request in block.requests}
        if not keys & attempted:
            left.update(
                ticket_key(block.project_id, slot.recorded.number)
                for slot in slots
                if isinstance(slot.recorded, Assignment)
                and slot.ticket is Reason.CONFLICT
            )
        attempted.update(keys)
        return next_step(block, slots)

    class LeavingPublisher(SNSPublisher):
        def publish(
            self, announcements: Sequence[Announcement], time_left: TimeLeft
        ) -> dict[str, AnnouncementError]:
            own = [
                announcement
                for announcement in announcements
                if announcement.event.id not in left
            ]
            left.clear()
            return super().publish(own, time_left)

    publisher = LeavingPublisher(as_boto3(environment.sns), "topic")
    allocator = replace(environment.allocator(environment.store()), decide=decide)
    real = build_handler(environment.worker(allocator=allocator, publisher=publisher))

    def handle(event: dict[str, Any], context: Any) -> Any:
        attempted.clear()
        return real(event, context)

    return handle


class DeafPublisher(SNSPublisher):
    """Takes the answer 200 for a success of every entry."""

    def publish(
        self, announcements: Sequence[Announcement], time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        """Publish, and do not listen."""
        del time_left
        for start in range(0, len(announcements), MAX_BATCH_ENTRIES):
            some = announcements[start : start + MAX_BATCH_ENTRIES]
            entries: Any = [
                {"Id": str(position), **_entry(each, fifo=False).content}
                for position, each in enumerate(some)
            ]
            self._client.publish_batch(
                TopicArn=self._topic_arn, PublishBatchRequestEntries=entries
            )
        return {}


@dataclass
class HastyDeadLetters:
    """Deletes a poison message, and then sends it to the dead-letter queue."""

    environment: ExecutionEnvironment
    real: SQSDeadLetters

    def send(
        self, letters: Sequence[DeadLetter], time_left: TimeLeft
    ) -> dict[str, DeadLetterError]:
        """Send what is no longer on the queue."""
        for letter in letters:
            self.environment.source.delete_message(
                QueueUrl="queue", ReceiptHandle=letter.record.message_id
            )
        return self.real.send(letters, time_left)


def deleting_the_top(environment: ExecutionEnvironment) -> Handler:
    """Let somebody tidy up the newest ticket now and then."""
    real = build_handler(environment.worker())
    store = environment.store()

    def handle(event: dict[str, Any], context: Any) -> Any:
        if environment.choices.chance(0.2):
            try:
                if number := store.last_number("P0"):
                    key = {"project_id": {"S": "P0"}, "number": {"N": str(number)}}
                    environment.dynamodb.delete_item(TableName=TICKETS, Key=key)
            except Exception:  # noqa: BLE001 - who tidies up does not insist.
                return real(event, context)
        return real(event, context)

    return handle
