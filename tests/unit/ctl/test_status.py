"""`ticketctl status` shows all known values, with its own rights and no other."""

from pathlib import Path
from typing import Any

import boto3
import pytest
from pydantic.alias_generators import to_pascal

from tests.support.builders import CALLER
from tests.support.canned_aws import Reply, Wire
from tests.support.controls import ALARM_TOPIC, ALIAS, FUNCTION
from tests.support.rights import granted
from tests.support.stage import Stage
from ticketctl import PROGRAM
from ticketctl.aws.outputs import NEEDED_OUTPUTS
from ticketctl.aws.stack import Stack, find_stack
from ticketctl.aws.worker_state import worker_state
from ticketctl.status.delivery import delivery_problems
from ticketctl.status.status import lines_of, status_of


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A stack whose alarms have an address."""
    stage = Stage(tmp_path)
    stage.lead(monkeypatch)
    stage.controls.has_alarm_topic = True
    stage.services.subscriptions[f"{ALARM_TOPIC}:1"] = "ops@example.com"
    return stage


def state() -> dict[str, Any]:
    """Return the command's state of the stack."""
    return status_of(find_stack("numbers", "eu-west-1", None), check=True)


def test_deleted_alias_is_a_problem(stage: Stage) -> None:
    stage.controls.alias = None

    [problem] = state()["problems"]

    assert problem.endswith(ALIAS)


def test_status_needs_the_rights_of_its_row_and_no_other(stage: Stage) -> None:
    """Those for a worker that is stopped, too, which has two queues."""
    stage.controls.mapping = stage.controls.second = "Disabled"
    stage.services.create_queue("second")

    assert state()["worker_stopped"]

    services = stage.services
    calls = {*stage.controls.calls} | {
        f"{name}:{to_pascal(call)}"
        for name in ("sqs", "sns")
        for call in getattr(services, name).requests
    }
    assert calls == granted("status")
    [asked] = services.sns.requests["list_subscriptions_by_topic"]
    assert asked == {"TopicArn": "arn:aws:sns:eu-west-1:123456789012:alarms"}


UNKNOWN: dict[str, tuple[str, set[str]]] = {
    "sqs": ("SQS", {"queue", "dead_letters"}),
    "lambda": ("Lambda", {"mappings", "worker_stopped", "aliases"}),
    "cloudwatch": ("CloudWatch", {"alarms", "line", "oldest_message"}),
    "sns": ("SNS", {"alarm_addresses"}),
    "cloudformation": (
        "CloudFormation",
        {"aliases", "alarms", "alarm_addresses"},
    ),
}
"""The name of a service without an answer, and the unknown values."""


class TestNoAnswer:
    """The rest is shown, and is not taken for all."""

    @pytest.mark.parametrize("service", UNKNOWN)
    @pytest.mark.parametrize("why", ["rejects the call", "does not answer"])
    def test_rest_is_shown_when_a_service_gives_no_answer(
        self, why: str, service: str, stage: Stage
    ) -> None:
        name, unknown = UNKNOWN[service]
        stack = find_stack("numbers", "eu-west-1", None)
        if why == "rejects the call":
            stage.controls.refused[service] = "AccessDenied"
        else:
            stage.controls.silent.add(service)

        status = status_of(stack)

        assert {part for part in status if status[part] is None} == unknown
        start = f"unknown, because {name} {why}: "
        assert {line[: len(start)] for line in status["problems"]} == {start}
        is_whole = name == "CloudFormation"
        assert ("; unknown are aliases, alarms" in status["problems"][0]) is is_whole
        [place, *_] = lines_of(status, PROGRAM)
        assert place.startswith("numbers in eu-west-1 of the account")

    def test_service_is_asked_once_when_no_connection_can_be_made(
        self, stage: Stage
    ) -> None:
        """Each further wait would be as long."""
        stack = find_stack("numbers", "eu-west-1", None)
        stage.controls.silent |= {*UNKNOWN}

        assert len(status_of(stack)["problems"]) == 4
        services = [call.partition(":")[0] for call in stage.controls.calls]
        assert services.count("sqs") == 1

    def test_services_are_named_when_a_proxys_page_answers_for_them(self) -> None:
        outputs = dict.fromkeys(NEEDED_OUTPUTS, CALLER)
        stack = Stack("numbers", "eu-west-1", outputs, {}, boto3.Session())
        for service in ("cloudformation", "sqs", "cloudwatch", "lambda", "dynamodb"):
            Wire(stack.client(service), [Reply(page="<html>Sign in</html>")])

        lines = status_of(stack)["problems"]

        assert [line.partition(" does not answer")[0] for line in lines] == [
            f"unknown, because {name}"
            for name in ("CloudFormation", "Lambda", "SQS", "CloudWatch", "DynamoDB")
        ]

    def test_rest_is_shown_when_a_service_throttles(self, stage: Stage) -> None:
        stage.controls.errors["GetAlias"] = "ThrottlingException"

        [problem] = state()["problems"]

        assert "Lambda does not answer: " in problem

    def test_versions_are_no_problem_when_they_are_unknown(self, stage: Stage) -> None:
        """The mapping is known, and where it leads is not judged."""
        stage.controls.leads_to, stage.controls.second = f"{FUNCTION}:7", "Disabled"
        known = worker_state(find_stack("numbers", "eu-west-1", None))

        [problem] = delivery_problems(known, None)

        assert problem.startswith("messages of second wait")
