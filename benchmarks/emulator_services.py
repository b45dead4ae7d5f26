"""Queue, tables and topic on the emulator, and clients that count."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.tally import Tally
from tests.support.tables import create_table
from ticket_numbering.settings import Settings
from ticketctl.local.clients import Clients

VISIBILITY_SECONDS: Final = 20
# What says how much it took, and in which units.
_READS: Final = {"Query", "GetItem", "BatchGetItem"}
_WRITES: Final = {"PutItem", "UpdateItem", "TransactWriteItems"}


@dataclass(frozen=True)
class Services:
    """The names of one run's resources."""

    endpoint_url: str
    settings: Settings
    queue_url: str


def create_services(clients: Clients, endpoint_url: str, name: str) -> Services:
    """Create what a run needs, under names of its own."""
    tickets, keys = f"{name}-tickets", f"{name}-keys"
    dynamodb = clients.client("dynamodb")
    create_table(dynamodb, tickets, project_id="S", number="N")
    create_table(dynamodb, keys, id="S")
    sqs, sns = clients.client("sqs"), clients.client("sns")
    attributes = {"VisibilityTimeout": str(VISIBILITY_SECONDS)}
    queue = sqs.create_queue(QueueName=f"{name}-queue", Attributes=attributes)
    dead = sqs.create_queue(QueueName=f"{name}-dead")
    topic = sns.create_topic(Name=f"{name}-topic")
    settings = Settings(
        TICKETS_TABLE=tickets,
        IDEMPOTENCY_KEYS_TABLE=keys,
        ASSIGNMENTS_TOPIC_ARN=topic["TopicArn"],
        DEAD_LETTER_QUEUE_URL=dead["QueueUrl"],
    )
    return Services(endpoint_url, settings, queue["QueueUrl"])


def counted(client: Any, tally: Tally) -> Any:
    """Count the client's requests, and what DynamoDB says that they took."""
    service = client.meta.service_model.service_id.hyphenize()
    events = client.meta.events
    events.register(f"before-send.{service}", _counter(tally))
    if service == "dynamodb":
        events.register("provide-client-params.dynamodb", _ask_for_units)
        events.register("after-call.dynamodb", _unit_counter(tally))
    return client


def _counter(tally: Tally) -> Any:
    def count(event_name: str, **_: Any) -> None:
        tally.requests[event_name.rpartition(".")[2]] += 1

    return count


def _ask_for_units(
    params: dict[str, Any], model: Any, **_: Any
) -> dict[str, Any] | None:
    if model.name not in _READS | _WRITES:
        return None
    return {**params, "ReturnConsumedCapacity": "TOTAL"}


def _unit_counter(tally: Tally) -> Any:
    def count(model: Any, parsed: Mapping[str, Any], **_: Any) -> None:
        units = capacity_units(parsed.get("ConsumedCapacity"))
        if model.name in _READS:
            tally.read_units += units
        else:
            tally.write_units += units

    return count


def capacity_units(consumed: Any) -> float:
    """Return the units of a `ConsumedCapacity` member: one, a list, or none."""
    if isinstance(consumed, Mapping):
        consumed = [consumed]
    return sum(float(each["CapacityUnits"]) for each in consumed or ())
