"""Parameters that would lose a promise are refused before anything is created."""

import http.client
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ticketctl.cli.errors import ToolError
from ticketctl.local.artifact import build_artifact
from ticketctl.local.clients import Clients
from ticketctl.local.deployment import Deployment, deploy
from ticketctl.local.emulator import HOST, Emulator, running_emulator
from ticketctl.local.stack import TEMPLATE

pytestmark = pytest.mark.emulator

REFUSED = {
    "large batch without a window": (
        {"BatchSize": "11"},
        "Set MaximumBatchingWindow to 1 or more, or BatchSize to 10 or less.",
    ),
    "no batch": (
        {"BatchSize": "0"},
        "must be 1 to 1000, and above 10 it needs a MaximumBatchingWindow.",
    ),
    "batch beyond the worker's limit": (
        {"BatchSize": "1001", "MaximumBatchingWindow": "1"},
        "must be 1 to 1000, and above 10 it needs a MaximumBatchingWindow.",
    ),
    "large batch of a FIFO queue": (
        {"QueueType": "fifo", "BatchSize": "11"},
        "Set BatchSize to 10 or less, or QueueType to standard.",
    ),
    "batching window of a FIFO queue": (
        {"QueueType": "fifo", "MaximumBatchingWindow": "1"},
        "Set MaximumBatchingWindow to 0, or QueueType to standard.",
    ),
    "retention below 30 days": (
        {"IdempotencyRetentionDays": "29"},
        (
            "must be 0 (for ever) or 30 to 3650 days; with fewer than 30, a message "
            "sent back from the dead-letter queue could get a second number."
        ),
    ),
    "concurrency of one": (
        {"MaximumConcurrency": "1"},
        "must be 2 to 1000; Lambda takes no less than 2.",
    ),
    "concurrency beyond Lambda's limit": (
        {"MaximumConcurrency": "1001"},
        "must be 2 to 1000; Lambda takes no less than 2.",
    ),
    "gradual deployment of which nobody hears": (
        {"GradualDeployment": "true"},
        "Set AlarmEmail or AlarmTopicArn, or GradualDeployment to false.",
    ),
    "alarms for no address": (
        {"AlarmEmail": "on-call"},
        "must be an e-mail address, or empty.",
    ),
}


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    """Start an emulator that holds nothing."""
    with running_emulator() as emulator:
        yield emulator


@pytest.fixture(scope="module")
def artifact() -> Path:
    """Build the function."""
    return build_artifact()


@pytest.fixture
def clients(emulator: Emulator) -> Iterator[Clients]:
    """Return clients of the empty emulator, and empty it again."""
    with Clients(emulator.endpoint_url) as clients:
        yield clients
    with closing(http.client.HTTPConnection(HOST, emulator.port)) as connection:
        connection.request("POST", "/_ministack/reset")
        assert connection.getresponse().status == http.client.OK


def mapping(clients: Clients, deployment: Deployment) -> dict[str, Any]:
    """Return how the queue delivers to the function."""
    answer = clients.client("lambda").list_event_source_mappings(
        FunctionName=deployment.function_name
    )
    [found] = answer["EventSourceMappings"]
    result: dict[str, Any] = found
    return result


class TestRefused:
    """A value outside the limits stops the deployment before its first resource."""

    @pytest.mark.parametrize(
        ("parameters", "sentence"), REFUSED.values(), ids=list(REFUSED)
    )
    def test_deployment_is_refused_with_a_sentence_that_says_what_to_do(
        self,
        clients: Clients,
        artifact: Path,
        parameters: dict[str, str],
        sentence: str,
    ) -> None:
        """The sentence is the whole of what a person gets to see."""
        with pytest.raises(ToolError, match=re.escape(sentence)):
            deploy(clients, TEMPLATE, artifact, parameters)

        created = [
            clients.client("cloudformation").list_stacks()["StackSummaries"],
            clients.client("sqs").list_queues().get("QueueUrls", []),
            clients.client("dynamodb").list_tables()["TableNames"],
            clients.client("sns").list_topics()["Topics"],
            clients.client("lambda").list_functions()["Functions"],
        ]
        assert created == [[], [], [], [], []]


class TestAccepted:
    """The outermost values within the limits deploy, and arrive."""

    @pytest.mark.parametrize(
        ("size", "window"), [("1", "0"), ("10", "0"), ("11", "1"), ("1000", "300")]
    )
    def test_batch_is_accepted_when_it_needs_no_window_or_has_one(
        self, clients: Clients, artifact: Path, size: str, window: str
    ) -> None:
        """Ten is the most without a window."""
        parameters = {"BatchSize": size, "MaximumBatchingWindow": window}

        deployment = deploy(clients, TEMPLATE, artifact, parameters)

        found = mapping(clients, deployment)
        assert found["BatchSize"] == int(size)
        assert found["MaximumBatchingWindowInSeconds"] == int(window)

    @pytest.mark.parametrize("days", ["0", "30", "3650"])
    def test_retention_is_accepted_when_no_message_outlives_it(
        self, clients: Clients, artifact: Path, days: str
    ) -> None:
        """For ever, or 30 days and more."""
        parameters = {"IdempotencyRetentionDays": days}

        deployment = deploy(clients, TEMPLATE, artifact, parameters)

        function = clients.client("lambda").get_function_configuration(
            FunctionName=deployment.function_name
        )
        variables = function["Environment"]["Variables"]
        assert variables["IDEMPOTENCY_RETENTION_DAYS"] == days

    @pytest.mark.parametrize("concurrency", ["2", "1000"])
    def test_concurrency_is_accepted_within_lambdas_bounds(
        self, clients: Clients, artifact: Path, concurrency: str
    ) -> None:
        """Two is the least that Lambda takes."""
        parameters = {"MaximumConcurrency": concurrency}

        deployment = deploy(clients, TEMPLATE, artifact, parameters)

        assert mapping(clients, deployment)["ScalingConfig"] == {
            "MaximumConcurrency": int(concurrency)
        }

    def test_alarms_notify_the_address_when_it_is_given(
        self, clients: Clients, artifact: Path
    ) -> None:
        """Through a topic of the stack, beside the one that is given."""
        given = "arn:aws:sns:us-east-1:000000000000:on-call"
        parameters = {"AlarmEmail": "on-call@example.com", "AlarmTopicArn": given}

        deploy(clients, TEMPLATE, artifact, parameters)

        alarms = clients.client("cloudwatch").describe_alarms()["MetricAlarms"]
        [(first, made)] = {tuple(alarm["AlarmActions"]) for alarm in alarms}
        assert first == given
        answer = clients.client("sns").list_subscriptions_by_topic(TopicArn=made)
        [subscription] = answer["Subscriptions"]
        assert subscription["Protocol"] == "email"
        assert subscription["Endpoint"] == "on-call@example.com"
