"""The template in FIFO mode, which is the standard one but for what order needs."""

import pytest

from tests.support.template_loader import Json, deployed, properties, the_only

QUEUES = ["CreateTicketQueue", "CreateTicketDeadLetterQueue"]
TOPIC = "AssignmentsTopic"
MAPPING = "NumberingWorkerCreateTicketMessages"

MODES = [
    {"QueueType": queues, "TopicType": topic}
    for queues in ("standard", "fifo")
    for topic in ("standard", "fifo")
]
OF_QUEUES = {
    *("QueueName", "FifoQueue", "ContentBasedDeduplication"),
    *("DeduplicationScope", "FifoThroughputLimit", "RedriveAllowPolicy"),
}
OF_TOPIC = {"TopicName", "FifoTopic", "FifoThroughputScope"}
OF_MAPPING = {"MaximumBatchingWindowInSeconds"}


def differences(one: Json, other: Json) -> set[str]:
    """Return the names of the members that are not alike."""
    return {
        name for name in one.keys() | other.keys() if one.get(name) != other.get(name)
    }


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_type_of_queues_and_topic_are_apart_and_standard_by_default(
    mode: dict[str, str],
) -> None:
    """Neither SQS nor SNS takes a property of FIFO for a standard one, even false."""
    resources = deployed(**mode)

    for name in QUEUES:
        queue = resources[name]["Properties"]
        assert ("FifoQueue" in queue) == (mode["QueueType"] == "fifo")
    assert ("FifoTopic" in resources[TOPIC]["Properties"]) == (
        mode["TopicType"] == "fifo"
    )
    assert "Fifo" not in str(
        [deployed()[name]["Properties"] for name in [*QUEUES, TOPIC]]
    )


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("QueueType", dict.fromkeys(QUEUES, OF_QUEUES) | {MAPPING: OF_MAPPING}),
        ("TopicType", {TOPIC: OF_TOPIC}),
    ],
)
def test_nothing_else_depends_on_the_type(
    kind: str, changed: dict[str, set[str]]
) -> None:
    """Alarms, dashboard and rights name a queue or topic, whatever it is called."""
    standard, fifo = deployed(), deployed(**{kind: "fifo"})

    found = {
        name: differences(standard[name]["Properties"], fifo[name]["Properties"])
        for name in differences(standard, fifo)
        if not name.startswith("NumberingWorkerVersion")
    }

    assert found.keys() == changed.keys()
    assert all(found[name] <= changed[name] for name in changed)


class TestFifoQueues:
    """A project's messages stay in order, and none is taken for another."""

    @pytest.mark.parametrize("logical_id", QUEUES)
    def test_queue_has_its_quotas_and_repeats_by_project(self, logical_id: str) -> None:
        queue = properties(logical_id, QueueType="fifo")

        assert queue["FifoQueue"] is True
        assert queue["QueueName"].endswith(".fifo")
        assert queue["DeduplicationScope"] == "messageGroup"
        assert queue["FifoThroughputLimit"] == "perMessageGroupId"

    def test_queue_drops_repeats_by_their_whole_body_and_dead_letters_do_not(
        self,
    ) -> None:
        """A producer's id could be another ticket's; two letters may have one body."""
        queue, letters = (properties(name, QueueType="fifo") for name in QUEUES)

        assert queue["ContentBasedDeduplication"] is True
        assert "ContentBasedDeduplication" not in letters

    def test_mapping_has_no_window(self) -> None:
        """Lambda refuses the property."""
        mapping = the_only("AWS::Lambda::EventSourceMapping", QueueType="fifo")

        assert not OF_MAPPING & mapping.keys()


def test_topic_has_its_quotas_by_project_and_leaves_ids_to_the_worker() -> None:
    topic = properties(TOPIC, TopicType="fifo")

    assert topic["FifoTopic"] is True
    assert topic["TopicName"].endswith(".fifo")
    assert topic["FifoThroughputScope"] == "MessageGroup"
    assert "ContentBasedDeduplication" not in topic
