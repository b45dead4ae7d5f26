"""The template in FIFO mode differs from the standard one only as order needs."""

import pytest

from tests.support.template_loader import Json, deployed, properties, the_only
from tests.unit.template.test_template import QUEUES, TOPIC

MAPPING = "NumberingWorkerCreateTicketMessages"

OF_ANY_QUEUE = {"QueueName", "FifoQueue", "DeduplicationScope", "FifoThroughputLimit"}
CHANGED = {
    "QueueType": {
        # By the body: a producer's own id could be that of another ticket.
        "CreateTicketQueue": {*OF_ANY_QUEUE, "ContentBasedDeduplication"},
        # Not by the body: two dead letters may have the same.
        "CreateTicketDeadLetterQueue": {*OF_ANY_QUEUE, "RedriveAllowPolicy"},
        MAPPING: {"MaximumBatchingWindowInSeconds"},
    },
    # The worker names each announcement, so SNS need not hash it.
    "TopicType": {TOPIC: {"TopicName", "FifoTopic", "FifoThroughputScope"}},
}


def differences(one: Json, other: Json) -> set[str]:
    names = one.keys() | other.keys()
    return {name for name in names if one.get(name) != other.get(name)}


@pytest.mark.parametrize("kind", CHANGED)
def test_type_changes_what_order_needs_and_nothing_else(kind: str) -> None:
    """Alarms, dashboard and rights follow the name of a queue or topic."""
    standard, fifo = deployed(), deployed(**{kind: "fifo"})

    found = {
        name: differences(standard[name]["Properties"], fifo[name]["Properties"])
        for name in differences(standard, fifo)
        if not name.startswith("NumberingWorkerVersion")
    }

    assert found == CHANGED[kind]


def test_no_service_gets_a_property_that_it_refuses() -> None:
    """A standard queue or topic one of FIFO, even as false; a FIFO mapping a window."""
    standard = [properties(name) for name in (*QUEUES, TOPIC)]
    mapping = the_only("AWS::Lambda::EventSourceMapping", QueueType="fifo")

    assert "Fifo" not in str(standard)
    assert "MaximumBatchingWindowInSeconds" not in mapping


@pytest.mark.parametrize("logical_id", QUEUES)
def test_queue_has_its_quotas_and_repeats_by_project(logical_id: str) -> None:
    queue = properties(logical_id, QueueType="fifo")

    assert queue["FifoQueue"] is True
    assert queue["QueueName"].endswith(".fifo")
    assert queue["DeduplicationScope"] == "messageGroup"
    assert queue["FifoThroughputLimit"] == "perMessageGroupId"
    assert queue.get("ContentBasedDeduplication", True) is True


def test_topic_has_its_quotas_by_project() -> None:
    topic = properties(TOPIC, TopicType="fifo")

    assert topic["FifoTopic"] is True
    assert topic["TopicName"].endswith(".fifo")
    assert topic["FifoThroughputScope"] == "MessageGroup"
