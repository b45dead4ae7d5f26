"""`ticketctl status` summarizes SQS, Lambda and CloudWatch."""

import json
import sys
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from pydantic.alias_generators import to_pascal
from rich.cells import cell_len
from rich.text import Text

from tests.support.canned_aws import aws_client, client_error, failing, unreachable
from tests.support.cases import cases
from tests.support.ctl_process import canned_stack, command_context, exit_status
from tests.support.model_services import ModelServices
from tests.support.rights import granted
from ticketctl.aws.stack import Stack
from ticketctl.commands.status import status
from ticketctl.status.delivery import delivery_problems
from ticketctl.status.status import lines_of, status_of

NOW = datetime(2026, 11, 21, 13, 0, 30, tzinfo=timezone(timedelta(hours=1)))
MINUTE = timedelta(minutes=1)
TOPIC, ALARM_TOPIC = "arn:aws:sns:x:1:tickets", "arn:aws:sns:x:1:alarms"
ALIAS = "arn:aws:lambda:x:1:function:worker:live"
GONE = "ResourceNotFoundException"
MAPPING = "2d5043e3-c152-4a31-b849-784dabf650b4"
CONFIRMED = {f"{ALARM_TOPIC}:1": "a@b.c"}
MODELLED = {"sqs": "get_queue_attributes", "sns": "list_subscriptions_by_topic"}
"""The call of each service that the model answers."""


def alarm(
    state: str = "OK", reason: str = "", *, enabled: bool = True, notifies: bool = True
) -> Any:
    return {
        "StateValue": state,
        "StateReason": reason,
        "StateUpdatedTimestamp": NOW,
        "ActionsEnabled": enabled,
        "AlarmActions": [ALARM_TOPIC] * notifies,
    }


@dataclass
class Account:
    """A stack called `numbers`, and what AWS answers about it."""

    alarms: dict[str, Any] = field(default_factory=lambda: {"A": alarm()})
    """By their names in the template; None for a deleted one."""
    dead: int = 0
    state: str | None = "Enabled"
    """The mapping's; None for an error."""
    error: str = GONE
    leads_to: str = ALIAS
    weights: dict[str, float] = field(default_factory=dict)
    has_alias: bool = True
    has_mapping: bool = True
    addresses: dict[str, str] | None = None
    """By their subscriptions to the alarm topic; None if there is no such topic."""
    removed: tuple[str, ...] = ()
    """Alarms that an update has removed from the stack."""
    ages: tuple[float, ...] = (0.0,)
    """Of the oldest message, in the last minutes."""
    refuses: str = ""
    """A service to which the caller has no right."""
    unreachable: tuple[str, ...] = ()
    """Services to which no connection can be made."""
    calls: set[str] = field(default_factory=set)
    services: ModelServices = field(default_factory=ModelServices)

    def stack(self) -> Stack:
        """Return the stack, whose stubs answer once."""
        for _ in range(self.dead):
            self.services.queues["dead"].send("{}")
        self.services.subscriptions |= self.addresses or {}
        modelled = {service: getattr(self.services, service) for service in MODELLED}
        if call := MODELLED.get(self.refuses):
            refusal = failing(client_error("AccessDenied"))
            modelled[self.refuses].before[call] = [refusal, refusal]
        clients: dict[str, Stubber] = {}
        answers = [*self._lambda(), *self._cloudformation(), *self._cloudwatch()]
        for service, operation, answer in answers:
            stubber = clients.setdefault(service, Stubber(aws_client(service)))
            if service == self.refuses:
                stubber.add_client_error(operation, "AccessDenied")
            elif isinstance(answer, str):
                stubber.add_client_error(operation, answer)
            else:
                stubber.add_response(operation, answer)
        for service, stubber in clients.items():
            event = f"before-parameter-build.{service}.*"
            stubber.client.meta.events.register(event, self._note)
        outputs = {
            "CreateTicketQueueUrl": "source",
            "DeadLetterQueueUrl": "dead",
            "AssignmentsTopicArn": TOPIC,
            "WorkerFunctionName": "worker",
        }
        lost = {name: unreachable(aws_client(name)) for name in self.unreachable}
        return canned_stack(outputs, **clients | modelled | lost)

    def _note(self, model: Any, **_: Any) -> None:
        self.calls.add(f"{model.service_model.service_name}:{model.name}")

    def _lambda(self) -> list[tuple[str, str, Any]]:
        mapping = {"State": self.state, "FunctionArn": self.leads_to}
        alias = {
            "AliasArn": ALIAS,
            "FunctionVersion": "7",
            "RoutingConfig": {"AdditionalVersionWeights": self.weights},
        }
        mappings: list[Any] = [mapping if self.state else self.error] * self.has_mapping
        return [
            *(("lambda", "get_event_source_mapping", one) for one in mappings),
            ("lambda", "get_alias", alias if self.has_alias else GONE),
        ]

    def _cloudformation(self) -> list[tuple[str, str, Any]]:
        created = [
            *[("M", "AWS::Lambda::EventSourceMapping", MAPPING)] * self.has_mapping,
            ("L", "AWS::Lambda::Alias", ALIAS),
            ("T", "AWS::SNS::Topic", TOPIC),
            *((name, "AWS::CloudWatch::Alarm", f"own-{name}") for name in self.alarms),
        ]
        if self.addresses is not None:
            created.append(("AlarmTopic", "AWS::SNS::Topic", ALARM_TOPIC))
        resources = [
            {
                "LogicalResourceId": logical_id,
                "PhysicalResourceId": name,
                "ResourceType": kind,
                "LastUpdatedTimestamp": NOW,
                "ResourceStatus": "DELETE_COMPLETE"
                if logical_id in self.removed
                else "CREATE_COMPLETE",
            }
            for logical_id, kind, name in created
        ]
        listing = "cloudformation", "list_stack_resources"
        return paged(*listing, "StackResourceSummaries", resources)

    def _cloudwatch(self) -> list[tuple[str, str, Any]]:
        there = [
            one | {"AlarmName": f"own-{name}"}
            for name, one in self.alarms.items()
            if one and name not in self.removed
        ]
        points = [
            {"Timestamp": NOW + place * MINUTE, "Maximum": age}
            for place, age in enumerate(self.ages)
        ]
        ages = ("cloudwatch", "get_metric_statistics", {"Datapoints": points[::-1]})
        if not self.alarms:
            return [ages]
        return [ages, *paged("cloudwatch", "describe_alarms", "MetricAlarms", there)]


def paged(
    service: str, operation: str, member: str, items: list[Any]
) -> list[tuple[str, str, Any]]:
    """Return the answers of an operation that has the items in two pages."""
    half = len(items) // 2
    pages = {member: items[:half], "NextToken": "on"}, {member: items[half:]}
    return [(service, operation, page) for page in pages]


class TestCounts:
    """SQS's counts, and the alarms of the stack."""

    def test_messages_are_counted_by_what_they_wait_for(self) -> None:
        account = Account(dead=5)
        stack, queues = account.stack(), account.services.queues
        for _ in range(4):
            queues["source"].send("{}")
        queues["source"].receive(1)
        queues["dead"].receive(2)

        found = status_of(stack)

        assert found["queue"] == {"waiting": 3, "delayed": 0, "in_flight": 1}
        assert found["dead_letters"] == 5

    def test_alarms_are_those_that_the_stack_created(self) -> None:
        """Their number is the template's own; another stack's do not count."""
        account = Account({"A": alarm(), "C": alarm(), "Old": None}, removed=("Old",))

        found = status_of(account.stack())

        assert [one["name"] for one in found["alarms"]] == ["A", "C"]
        assert "alarms          0 of 2 are on, 2 are OK" in [*lines_of(found)]

    def test_alarm_has_a_state_alone_when_it_was_deleted(self) -> None:
        [deleted] = status_of(Account({"A": None}).stack())["alarms"]

        assert deleted == {
            "name": "A",
            "state": "MISSING",
            "since": None,
            "reason": "",
            "actions_enabled": False,
            "notifies": False,
        }

    @pytest.mark.parametrize(
        ("ages", "shown"),
        [
            ((900.0, 3725.4), "1:02:05 old at 2026-11-21T12:01:30Z"),
            ((), "unknown: CloudWatch has no figure"),
        ],
    )
    def test_age_of_the_oldest_message_is_the_last_that_is_known(
        self, ages: tuple[float, ...], shown: str
    ) -> None:
        found = status_of(Account(ages=ages).stack())

        assert f"oldest message  {shown}" in [*lines_of(found)]

    def test_alarms_without_data_are_one_line(self) -> None:
        """A new stack, and an idle one, has many."""
        silent = {name: alarm("INSUFFICIENT_DATA") for name in "BCDE"}

        found = status_of(Account({"A": alarm(), **silent}).stack())

        since = "since 2026-11-21T12:00:30Z at the earliest"
        said = f"4 of 5 alarms have no data, {since}: B, C and 2 more"
        assert found["problems"] == [said]

    @pytest.mark.parametrize("is_terminal", [True, False])
    def test_lines_fit_a_terminal_and_are_whole_in_a_pipe(
        self,
        *,
        is_terminal: bool,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        reason = " ".join(["crossed 日本"] * 12)
        context = command_context(Account({"A": alarm("ALARM", reason)}).stack())
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)

        status(context)

        lines = Text.from_ansi(capsys.readouterr().out).plain.splitlines()
        assert all(cell_len(line) <= 80 for line in lines) == is_terminal
        assert any(line.endswith(reason) for line in lines) == (not is_terminal)
        assert reason in " ".join(map(str.strip, lines))

    def test_reason_is_shown_in_utc_when_an_alarm_is_on(self) -> None:
        account = Account({"A": alarm(), "B": alarm("ALARM", "a \x1b[2Jb")}, dead=1)

        lines = [*lines_of(status_of(account.stack()))]

        assert "alarms          1 of 2 are on, 1 are OK" in lines
        assert "B since 2026-11-21T12:00:30Z: a \ufffd[2Jb" in lines
        assert "`ticketctl dead-letters list` says why" in lines

    def test_versions_are_shown_with_their_shares_in_a_canary(self) -> None:
        found = status_of(Account(weights={"8": 0.1}).stack())

        assert found["aliases"][0]["weights"] == {"8": 0.1}
        lines = [*lines_of(found)]
        assert "mapping         Enabled" in lines
        assert "alias           live is version 7, 10% go to version 8" in lines


PROBLEMS: dict[str, tuple[Account, str]] = {
    "alarm on": (Account({"A": alarm("ALARM")}), "A since"),
    "alarm without data": (
        Account({"A": alarm("INSUFFICIENT_DATA")}),
        "1 of 1 alarms have no data, since 2026-11-21T12:00:30Z at the earliest: A",
    ),
    "alarm switched off": (Account({"A": alarm(enabled=False)}), "A is switched off"),
    "alarm without a topic": (
        Account({"A": alarm(notifies=False), "B": alarm()}),
        "1 of 2 alarms notify nobody",
    ),
    "alarm deleted": (Account({"A": alarm(), "B": None}), "B is missing"),
    "stopped": (Account(state="Disabled"), "stopped: its mapping is Disabled"),
    "stopping": (Account(state="Disabling"), "stopped: its mapping is Disabling"),
    "mapping deleted": (Account(state=None), "stopped: its mapping is MISSING"),
    "no mapping": (Account(has_mapping=False), "no event source mapping"),
    "elsewhere": (Account(leads_to=f"{ALIAS}s"), f"the mapping leads to {ALIAS}s"),
    "alias deleted": (Account(has_alias=False), f"the mapping leads to {ALIAS}"),
    "unconfirmed": (
        Account(addresses=CONFIRMED | {"PendingConfirmation": "a@b.c"}),
        "a@b.c has not confirmed",
    ),
    "nobody": (Account(addresses={}), "nobody subscribes to the alarm topic"),
}
WELL = {
    "well": Account(),
    "canary": Account(weights={"8": 0.1}),
    "confirmed": Account(addresses=CONFIRMED),
}


def ended(account: Account, *, check: bool = True) -> int:
    """Return how the command ends."""
    return exit_status(status, account.stack(), check=check, as_json=True)


class TestCheck:
    """A script is told when a person should look."""

    @pytest.mark.parametrize(("account", "said"), cases(PROBLEMS))
    def test_check_ends_with_1_and_names_the_problem(
        self, account: Account, said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert ended(account) == 1

        answer = json.loads(capsys.readouterr().out)
        [problem] = answer["problems"]
        assert said in problem
        assert problem in [*lines_of(answer)]

    @pytest.mark.parametrize("account", cases(WELL))
    def test_check_ends_with_0_when_all_is_well(
        self, account: Account, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert ended(account) == 0

        assert not json.loads(capsys.readouterr().out)["problems"]

    def test_check_ends_with_1_when_there_are_dead_letters(self) -> None:
        assert ended(Account(dead=1)) == 1


def test_status_needs_the_rights_of_its_row_and_no_other() -> None:
    account = Account(addresses=CONFIRMED)

    status_of(account.stack())

    # The command has found the stack before.
    calls = account.calls | {
        f"{service}:{to_pascal(call)}"
        for service in MODELLED
        for call in getattr(account.services, service).requests
    }
    assert calls == granted("status") - {"cloudformation:DescribeStacks"}
    [asked] = account.services.sns.requests[MODELLED["sns"]]
    assert asked == {"TopicArn": ALARM_TOPIC}


UNKNOWN: dict[str, tuple[str, set[str]]] = {
    "sqs": ("SQS", {"queue", "dead_letters"}),
    "lambda": ("Lambda", {"mappings", "aliases"}),
    "cloudwatch": ("CloudWatch", {"alarms", "oldest_message"}),
    "sns": ("SNS", {"alarm_addresses"}),
    "cloudformation": (
        "CloudFormation",
        {"mappings", "aliases", "alarms", "alarm_addresses"},
    ),
}
"""The name of a service that refuses, and what is unknown then."""


class TestMissingRight:
    """The rest is shown, and nobody takes it for all."""

    @pytest.mark.parametrize("service", UNKNOWN)
    def test_rest_is_shown_when_a_service_refuses(self, service: str) -> None:
        name, unknown = UNKNOWN[service]

        found = status_of(Account(refuses=service, addresses={}).stack())

        assert {part for part in found if found[part] is None} == unknown
        lines = [*lines_of(found)]
        assert lines[0] == "numbers in x of the account 1"
        said = f"unknown, because {name} refuses: "
        assert any(line.startswith(said) and "AccessDenied" in line for line in lines)
        is_whole = name == "CloudFormation"
        assert ("; unknown are mappings, aliases" in found["problems"][0]) is is_whole
        others = {"nobody subscribes"} if "alarm_addresses" not in unknown else set()
        assert {line[:17] for line in found["problems"]} == {said[:17], *others}

    @pytest.mark.parametrize(("check", "status_"), [(True, 1), (False, 3)])
    def test_status_says_that_something_is_unknown(
        self, *, check: bool, status_: int
    ) -> None:
        assert ended(Account(refuses="sqs"), check=check) == status_

    def test_other_errors_end_it(self) -> None:
        """Such as missing credentials, with which every call would fail."""
        with pytest.raises(ClientError, match="ExpiredToken"):
            status_of(Account(state=None, error="ExpiredToken").stack())

    def test_versions_are_no_problem_when_they_are_unknown(self) -> None:
        """The mapping is known, and where it leads is not judged."""
        [problem] = delivery_problems(
            [{"state": "Enabled", "function_arn": ALIAS}, {"state": "Disabled"}], None
        )

        assert "stopped" in problem


class TestNoAnswer:
    """What answers is shown, and what does not is named once."""

    @pytest.mark.parametrize("service", UNKNOWN)
    def test_rest_is_shown_when_a_service_is_unreachable(self, service: str) -> None:
        name, unknown = UNKNOWN[service]

        found = status_of(Account(unreachable=(service,), addresses=CONFIRMED).stack())

        assert {part for part in found if found[part] is None} == unknown
        [problem] = found["problems"]
        assert problem.startswith(f"unknown, because {name} does not answer: Could not")

    @pytest.mark.parametrize(("check", "status_"), [(True, 1), (False, 3)])
    def test_stack_is_named_when_nothing_answers(
        self, *, check: bool, status_: int, capsys: pytest.CaptureFixture[str]
    ) -> None:
        account = Account(unreachable=(*UNKNOWN,))

        assert ended(account, check=check) == status_

        assert len(json.loads(capsys.readouterr().out)["problems"]) == 3

    def test_rest_is_shown_when_a_service_throttles(self) -> None:
        found = status_of(Account(state=None, error="ThrottlingException").stack())

        [problem] = found["problems"]
        assert "Lambda does not answer: " in problem
