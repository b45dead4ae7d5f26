"""The template in FIFO mode, which is the standard one but for what order needs."""

import pytest

from tests.support.template_loader import (
    Json,
    ids_of,
    parameters,
    properties,
    ref,
    refusals,
    resource,
    the_only,
    translated,
)

QUEUES = ["CreateTicketQueue", "CreateTicketDeadLetterQueue"]
MODES = [[], ["queues"], ["topic"], ["queues", "topic"]]

OF_FIFO_QUEUES = {
    "FifoQueue",
    "ContentBasedDeduplication",
    "DeduplicationScope",
    "FifoThroughputLimit",
}
OF_FIFO_TOPICS = {
    "FifoTopic",
    "ContentBasedDeduplication",
    "FifoThroughputScope",
    "TopicName",
}


def mapping(*fifo: str) -> Json:
    """Return the configuration of the event source mapping."""
    return the_only("AWS::Lambda::EventSourceMapping", fifo)


def name_of(logical_id: str, name: str, *fifo: str) -> str:
    """Return a name as the stack `app` would give it."""
    template, variables = properties(logical_id, fifo)[name]["Fn::Sub"]
    for key, value in {
        "AWS::StackName": "app",
        "Suffix": variables.get("Suffix", ""),
    }.items():
        template = template.replace(f"${{{key}}}", value)
    result: str = template.replace("${Instance}", "01234567")
    return result


class TestStandardIsTheDefault:
    """Who chooses nothing gets what was there before."""

    @pytest.mark.parametrize("name", ["QueueType", "TopicType"])
    def test_type_is_standard_by_default(self, name: str) -> None:
        """And there are two of them."""
        assert parameters()[name]["Default"] == "standard"
        assert parameters()[name]["AllowedValues"] == ["standard", "fifo"]

    def test_nothing_of_fifo_is_set_by_default(self) -> None:
        """Neither SQS nor SNS takes it for a standard one, not even as false."""
        queues = [properties(each).keys() for each in QUEUES]

        assert not any(OF_FIFO_QUEUES & each for each in queues)
        assert not OF_FIFO_TOPICS & properties("AssignmentsTopic").keys()

    def test_dead_letter_queue_keeps_its_made_up_name_when_standard(self) -> None:
        """A name of its own would replace the queue of every stack there is."""
        assert "QueueName" not in properties("CreateTicketDeadLetterQueue")

    @pytest.mark.parametrize("fifo", MODES)
    def test_type_of_the_topic_and_of_the_queues_are_apart(
        self, fifo: list[str]
    ) -> None:
        """Subscribers and producers choose for themselves."""
        for logical_id in QUEUES:
            assert ("FifoQueue" in properties(logical_id, fifo)) == ("queues" in fifo)
        assert ("FifoTopic" in properties("AssignmentsTopic", fifo)) == (
            "topic" in fifo
        )

    def test_conditions_ask_for_the_parameters(self) -> None:
        """Each for its own."""
        conditions = translated()["Conditions"]

        assert conditions["HasFifoQueues"] == {"Fn::Equals": [ref("QueueType"), "fifo"]}
        assert conditions["HasFifoTopic"] == {"Fn::Equals": [ref("TopicType"), "fifo"]}


class TestFifoQueues:
    """A project's messages stay in order, and none is taken for another."""

    @pytest.mark.parametrize("logical_id", QUEUES)
    def test_queue_and_dead_letter_queue_are_both_fifo(self, logical_id: str) -> None:
        """SQS moves dead letters only to a queue of the same type."""
        queue = properties(logical_id, ["queues"])

        assert queue["FifoQueue"] is True
        assert queue["DeduplicationScope"] == "messageGroup"
        assert queue["FifoThroughputLimit"] == "perMessageGroupId"

    @pytest.mark.parametrize("logical_id", QUEUES)
    def test_names_have_the_suffix_and_fit_for_a_stack_name_of_52_characters(
        self, logical_id: str
    ) -> None:
        """SQS demands the one, and allows 80 characters in all."""
        name = name_of(logical_id, "QueueName", "queues")

        assert name.endswith("-01234567.fifo")
        assert len(name) - len("app") + 52 <= 80

    def test_names_differ_when_the_type_does(self) -> None:
        """A new type is a new queue, which cannot have the name of the kept one."""
        assert name_of("CreateTicketQueue", "QueueName") == "app-create-ticket-01234567"

    def test_queue_drops_repeats_by_their_whole_body(self) -> None:
        """An id that a producer thinks of could be that of another ticket."""
        queue, dead_letters = (properties(each, ["queues"]) for each in QUEUES)

        assert queue["ContentBasedDeduplication"] is True
        assert "ContentBasedDeduplication" not in dead_letters

    def test_dead_letter_queue_takes_messages_of_exactly_our_queue(self) -> None:
        """The allowed source is the queue's own name, with the suffix."""
        queue, dead_letters = (properties(each, ["queues"]) for each in QUEUES)
        name, variables = queue["QueueName"]["Fn::Sub"]

        [source_arn] = dead_letters["RedriveAllowPolicy"]["sourceQueueArns"]

        assert source_arn["Fn::Sub"] == [
            f"arn:${{AWS::Partition}}:sqs:${{AWS::Region}}:${{AWS::AccountId}}:{name}",
            variables,
        ]
        assert variables["Suffix"] == ".fifo"

    @pytest.mark.parametrize("fifo", MODES)
    def test_everything_else_of_the_queues_is_as_ever(self, fifo: list[str]) -> None:
        """Retention, encryption, patience and the way to the dead-letter queue."""
        special = {*OF_FIFO_QUEUES, "QueueName", "RedriveAllowPolicy"}

        for logical_id in QUEUES:
            changed = properties(logical_id, fifo).items()
            rest = {name: each for name, each in changed if name not in special}
            standard = properties(logical_id).items()
            assert rest == {name: each for name, each in standard if name in rest}
            assert resource(logical_id)["UpdateReplacePolicy"] == "Retain"


class TestFifoBatches:
    """Lambda takes ten messages of a FIFO queue, and does not wait for them."""

    def test_mapping_has_no_window_when_the_queue_is_fifo(self) -> None:
        """Lambda refuses the property; all others stay."""
        assert "MaximumBatchingWindowInSeconds" not in mapping("queues")
        assert mapping("queues").items() <= mapping().items()

    @pytest.mark.parametrize(
        ("chosen", "sentences"),
        [
            ({"BatchSize": "10"}, 0),
            ({"BatchSize": "1"}, 0),
            ({"BatchSize": "10", "MaximumBatchingWindow": "1"}, 1),
            ({"BatchSize": "11", "MaximumBatchingWindow": "0"}, 1),
            ({"BatchSize": "11", "MaximumBatchingWindow": "1"}, 2),
        ],
    )
    def test_fifo_is_refused_when_batches_are_large_or_wait(
        self, chosen: dict[str, str], sentences: int
    ) -> None:
        """Each of the two has a sentence that says what to do."""
        found = refusals(QueueType="fifo", **chosen)

        assert len(found) == sentences
        assert all("or QueueType to standard" in each for each in found)

    def test_large_batches_that_wait_are_accepted_when_the_queue_is_standard(
        self,
    ) -> None:
        """The topic's type is no reason against them."""
        large = {"BatchSize": "1000", "MaximumBatchingWindow": "300"}

        assert refusals(QueueType="standard", TopicType="fifo", **large) == []


class TestFifoTopic:
    """A project's announcements stay in order."""

    def test_topic_is_fifo_with_quotas_for_each_project(self) -> None:
        """The worker names each announcement, so SNS need not hash it."""
        topic = properties("AssignmentsTopic", ["topic"])

        assert topic["FifoTopic"] is True
        assert topic["FifoThroughputScope"] == "MessageGroup"
        assert "ContentBasedDeduplication" not in topic
        assert topic["KmsMasterKeyId"] == "alias/aws/sns"

    def test_topic_has_the_suffix_in_its_name(self) -> None:
        """SNS demands it."""
        name = name_of("AssignmentsTopic", "TopicName", "topic")

        assert name == "app-assignments-01234567.fifo"


class TestEverythingAround:
    """Alarms, dashboard, rights and outputs need not know the mode."""

    def test_no_other_resource_depends_on_the_mode(self) -> None:
        """What they name is the queue and the topic, whatever these are called."""
        mappings = ids_of("AWS::Lambda::EventSourceMapping")
        special = {*QUEUES, "AssignmentsTopic", *mappings}

        for logical_id in translated()["Resources"].keys() - special:
            assert "HasFifo" not in str(resource(logical_id))

    def test_version_is_published_when_a_type_changes(self) -> None:
        """Or the alias would keep the addresses of the old queue and topic."""
        [version] = ids_of("AWS::Lambda::Version")
        description = properties(version)["Description"]["Fn::Sub"]

        assert "${QueueType}" in description
        assert "${TopicType}" in description
