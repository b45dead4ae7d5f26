"""Known-bad adapters of DynamoDB, SNS and SQS, and a correct one that costs more."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from simulation.aws.clients import AlteredClient, with_puts
from simulation.aws.lambda_service import Handler
from simulation.aws.network import Request
from simulation.aws.tables import KEYS, TICKETS
from simulation.checks.monitor import FULL
from simulation.world.execution_environment import ExecutionEnvironment
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.adapters.sns_publisher import SNSPublisher
from ticket_numbering.adapters.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.contract.dynamodb_items import key_id
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.errors import (
    AnnouncementError,
    DamagedKeyRecordError,
    DeadLetterError,
    PoisonMessageError,
)
from ticket_numbering.contract.messages import Assignment, CreateTicket, RequestKey
from ticket_numbering.contract.time_left import TimeLeft
from ticket_numbering.worker.results import Poison

Change = Callable[[Sequence[Envelope]], Sequence[Envelope]]


class Announcing(SNSPublisher):
    """Announces other events than it is given."""

    def __init__(self, *arguments: Any, change: Change) -> None:
        super().__init__(*arguments)
        self._change = change

    def publish(
        self, announcements: Sequence[Envelope], time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        """Publish the others."""
        return super().publish(self._change(announcements), time_left)


def new_ones(envelopes: Sequence[Envelope]) -> Sequence[Envelope]:
    """Take a recorded number for an announced one."""
    return [envelope for envelope in envelopes if not envelope.replayed]


def all_but_poison(envelopes: Sequence[Envelope]) -> Sequence[Envelope]:
    """Take the refusals of poison for announced."""
    return [
        envelope
        for envelope in envelopes
        if envelope.attributes.get("error_type", FULL) == FULL
    ]


def ignoring_failed_entries(environment: ExecutionEnvironment) -> Handler:
    """Take the answer 200 for a success of every entry."""

    def publish_batch(**request: Any) -> Any:
        environment.sns.publish_batch(**request)
        return {"Successful": request["PublishBatchRequestEntries"]}

    deaf = AlteredClient(environment.sns, publish_batch=publish_batch)
    return replace(environment, sns=deaf).handler()


class NoDeadLetters:
    """Takes a refusal that is announced for answered."""

    def send(
        self, dead_letters: Sequence[Poison], time_left: TimeLeft
    ) -> dict[str, DeadLetterError]:
        """Send nothing."""
        del dead_letters, time_left
        return {}


@dataclass
class HastyDeadLetters:
    """Deletes a poison message, and then sends it to the dead-letter queue."""

    source: Any
    real: SQSDeadLetters

    def send(
        self, dead_letters: Sequence[Poison], time_left: TimeLeft
    ) -> dict[str, DeadLetterError]:
        """Delete the messages, and send them."""
        for dead_letter in dead_letters:
            self.source.delete_message(
                QueueUrl="queue", ReceiptHandle=dead_letter.record.message_id
            )
        return self.real.send(dead_letters, time_left)


def deleting_too_early(environment: ExecutionEnvironment) -> Handler:
    """Build the worker with the hasty dead letters."""
    hasty = HastyDeadLetters(environment.source, environment.dead_letters())
    return environment.handler(dead_letters=hasty)


def putting_without_condition(environment: ExecutionEnvironment) -> Handler:
    """Trust the last number that was read."""

    def change(put: Request) -> Request:
        if put["TableName"] == TICKETS:
            return {k: v for k, v in put.items() if k != "ConditionExpression"}
        return put

    trusting = with_puts(environment.dynamodb, change)
    return replace(environment, dynamodb=trusting).handler()


def reading_stale(environment: ExecutionEnvironment) -> Handler:
    """Read the last number as it was, and rely on the condition: correct."""
    dynamodb = environment.dynamodb

    def query(**request: Any) -> Any:
        return dynamodb.query(**request | {"ConsistentRead": False})

    stale = AlteredClient(dynamodb, query=query)
    return replace(environment, dynamodb=stale).handler()


class RefusesUnseen(DynamoDBTicketStore):
    """Refuses a capped request without reading its key."""

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
        """Return the keys that are visible, of half-written transactions too."""
        return self.read_keys(keys)


def keyed_by_message_id(environment: ExecutionEnvironment) -> Handler:
    """Take the id that SQS gave the message for the identity of the request."""
    dynamodb = environment.dynamodb
    message_ids: dict[str, str] = {}

    def change(put: Request) -> Request:
        if put["TableName"] == KEYS:
            message_id = message_ids[put["Item"]["id"]["S"]]
            return {**put, "Item": {**put["Item"], "id": {"S": message_id}}}
        return put

    def batch_get_item(**request: Any) -> Any:
        lookup = request["RequestItems"][KEYS]
        key_ids = {message_ids[key["id"]["S"]]: key for key in lookup["Keys"]}
        keys = [{"id": {"S": message_id}} for message_id in key_ids]
        answer = dynamodb.batch_get_item(RequestItems={KEYS: lookup | {"Keys": keys}})
        items = answer["Responses"].get(KEYS, ())
        records = [{**item, **key_ids[item["id"]["S"]]} for item in items]
        return answer | {"Responses": {KEYS: records}}

    client = with_puts(dynamodb, change)
    keyed = AlteredClient(client, batch_get_item=batch_get_item)
    real = replace(environment, dynamodb=keyed).handler()

    def handle(event: dict[str, Any], context: Any) -> Any:
        message_ids.clear()
        for record in event["Records"]:
            with suppress(PoisonMessageError):
                request = CreateTicket.parse(record["body"])
                message_ids[key_id(request.key)] = record["messageId"]
        return real(event, context)

    return handle


def deleting_the_top(environment: ExecutionEnvironment) -> Handler:
    """Delete the newest ticket before some invocations."""
    real = environment.handler()
    store = environment.store()

    def handle(event: dict[str, Any], context: Any) -> Any:
        if environment.choices.chance(0.2):
            with suppress(Exception):
                if number := store.head("P0").number:
                    key = {"project_id": {"S": "P0"}, "number": {"N": str(number)}}
                    environment.dynamodb.delete_item(TableName=TICKETS, Key=key)
        return real(event, context)

    return handle
