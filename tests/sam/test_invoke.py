"""Each event, given to the built function in a container by `sam local invoke`."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import System
from tests.sam.conftest import Invocation, LocalSystem, look_until, run_sam
from tests.support.builders import ticket_fields
from tests.unit.worker.test_events import EXPECTED, FILES, read
from ticket_numbering.messages import CreateTicket
from ticketctl.audit.audit import ProjectAudit, audit
from ticketctl.local.artifact import ROOT
from ticketctl.system.queues import Received
from tools import events

Invoke = Callable[[Path], Invocation]

NO_FAILURE: dict[str, list[dict[str, str]]] = {"batchItemFailures": []}


@dataclass(frozen=True)
class Effect:
    """What an event did to empty tables."""

    invocation: Invocation
    audits: list[ProjectAudit]
    announced: list[str]
    """Ids, in alphabetical order."""
    letters: list[Received]


def audits_of(system: System) -> list[ProjectAudit]:
    """Return what the tables say of every project."""
    outputs = system.stack.outputs
    tables = outputs["TicketsTableName"], outputs["IdempotencyKeysTableName"]
    return audit(system.stack.client("dynamodb"), *tables)


@pytest.fixture(scope="session")
def effect_of(invoke: Invoke, local_system: LocalSystem) -> Callable[[str], Effect]:
    """Return what an event of the folder does; each is invoked once."""

    @cache
    def effect_of(name: str) -> Effect:
        expected = EXPECTED[name]
        numbered = sum(len(each) for each in expected.numbers.values())
        system = local_system.emptied()
        invocation = invoke(events.DIRECTORY / name)
        look_until(
            system,
            lambda: (
                len(system.announced) >= numbered
                and bool(system.dead_letters) >= bool(expected.letter)
            ),
        )
        ids = sorted(json.loads(each.body)["id"] for each in system.announced)
        return Effect(invocation, audits_of(system), ids, system.dead_letters)

    return effect_of


@pytest.fixture
def give(
    invoke: Invoke, system: System, tmp_path: Path
) -> Callable[[dict[str, Any], int], Invocation]:
    """Return what invokes the function on an event, and waits for announcements."""

    def give(event: dict[str, Any], announcements: int) -> Invocation:
        path = tmp_path / "event.json"
        path.write_text(json.dumps(event), encoding="utf-8")
        invocation = invoke(path)
        look_until(system, lambda: len(system.announced) >= announcements)
        return invocation

    return give


@pytest.mark.parametrize("name", [path.name for path in FILES])
class TestEveryFile:
    """A file does in a container what the table of expectations says."""

    def test_event_is_answered_with_no_failure(
        self, effect_of: Callable[[str], Effect], name: str
    ) -> None:
        """The partial-batch response is empty: nothing is to come back."""
        assert effect_of(name).invocation.response == NO_FAILURE

    def test_event_gets_its_numbers(
        self, effect_of: Callable[[str], Effect], name: str
    ) -> None:
        """The tickets and their keys lie in the local system's tables."""
        audits = effect_of(name).audits

        numbers = {each.project_id: [*each.numbers] for each in audits}
        assert numbers == EXPECTED[name].numbers
        assert all(each.is_clean for each in audits)

    def test_event_has_its_numbers_announced(
        self, effect_of: Callable[[str], Effect], name: str
    ) -> None:
        """A queue that is subscribed to the topic hears of each number once."""
        numbers = EXPECTED[name].numbers
        keys = [f"{project}-{n}" for project, each in numbers.items() for n in each]

        assert effect_of(name).announced == sorted(keys)

    def test_event_is_dead_lettered_with_its_reason_and_unchanged(
        self, effect_of: Callable[[str], Effect], name: str
    ) -> None:
        """The last record is the poison one, and not a byte of it changes."""
        expected, last = EXPECTED[name].letter, read(name)["Records"][-1]

        found = [
            (
                each.attributes["ErrorType"],
                each.attributes["ErrorMessage"].partition(": ")[0],
                each.attributes["SourceMessageId"],
                each.body,
            )
            for each in effect_of(name).letters
        ]

        letters = (
            [(expected[0].__name__, expected[1], last["messageId"], last["body"])]
            if expected
            else []
        )
        assert found == letters

    def test_event_has_an_outcome_line_a_record(
        self, effect_of: Callable[[str], Effect], name: str
    ) -> None:
        """What SAM prints tells what became of each record."""
        ids = {record["messageId"] for record in read(name)["Records"]}

        assert effect_of(name).invocation.outcomes.keys() == ids


class TestSecondInvoke:
    """The user chooses whether it is a replay or a new ticket."""

    def test_ticket_is_replayed_when_invoked_again(
        self, invoke: Invoke, system: System
    ) -> None:
        """The same file, then its redelivery: one ticket, announced three times."""
        for name in ("create-ticket.json", "create-ticket.json", "redelivery.json"):
            assert invoke(events.DIRECTORY / name).response == NO_FAILURE

        look_until(system, lambda: len(system.announced) >= 3)
        first, *repeats = system.events("PROJ")
        assert repeats == [first, first]
        assert system.replays("PROJ") == [False, True, True]
        assert system.audit("PROJ").numbers == (1,)

    def test_ticket_is_new_when_events_are_fresh(
        self, invoke: Invoke, system: System, tmp_path: Path
    ) -> None:
        """The command writes events whose keys no table knows."""
        subprocess.run(  # noqa: S603 - no shell, no argument from outside.
            [sys.executable, "-m", "tools.events", tmp_path, "--fresh"],
            check=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": "src"},
        )

        for directory in (events.DIRECTORY, tmp_path):
            assert invoke(directory / "create-ticket.json").response == NO_FAILURE

        look_until(system, lambda: len(system.announced) >= 2)
        assert [each["id"] for each in system.events("PROJ")] == ["PROJ-1", "PROJ-2"]
        assert system.replays("PROJ") == [False, False]
        assert system.audit("PROJ").numbers == (1, 2)


def generated_event() -> dict[str, Any]:
    """Return the event that the SAM CLI makes up."""
    printed = run_sam("local", "generate-event", "sqs", "receive-message").stdout
    event: dict[str, Any] = json.loads(printed)
    return event


class TestGeneratedEvent:
    """What the SAM CLI generates is accepted, and what a person makes of it."""

    def test_generated_event_is_numbered_when_its_body_is_a_ticket(
        self, give: Callable[[dict[str, Any], int], Invocation], system: System
    ) -> None:
        """Nothing but the body needs to be replaced."""
        event = generated_event()
        event["Records"][0]["body"] = json.dumps(ticket_fields("GEN"))

        assert give(event, 1).response == NO_FAILURE

        assert [each["id"] for each in system.events("GEN")] == ["GEN-1"]
        assert system.audit("GEN").is_clean

    def test_event_of_the_page_holds_a_ticket_of_ones_own(self) -> None:
        """By the command as it stands there, but for the file that it writes."""
        page = (ROOT / "docs" / "local.md").read_text(encoding="utf-8")
        [line] = [line for line in page.splitlines() if "generate-event sqs" in line]
        command = line.removeprefix("$ ").rpartition(" > ")[0]

        printed = subprocess.run(  # noqa: S603 - a page of ours.
            ["/bin/sh", "-c", command],
            check=True,
            capture_output=True,
            cwd=ROOT,
            env=os.environ | {"SAM_CLI_TELEMETRY": "0"},
        ).stdout

        [record] = json.loads(printed)["Records"]
        assert CreateTicket.model_validate_json(record["body"]).project_id == "PROJ"

    def test_generated_event_is_dead_lettered_when_it_is_left_as_printed(
        self, give: Callable[[dict[str, Any], int], Invocation], system: System
    ) -> None:
        """A greeting is no ticket: the reason says so, and nothing crashes."""
        invocation = give(generated_event(), 0)

        look_until(system, lambda: bool(system.dead_letters))
        [letter] = system.dead_letters
        assert invocation.response == NO_FAILURE
        assert letter.body == "Hello from SQS!"
        assert letter.attributes["ErrorType"] == "InvalidMessageError"
        assert letter.attributes["ErrorMessage"].startswith("body: ")

    def test_record_is_numbered_when_it_lacks_attributes_or_has_an_extra_field(
        self, give: Callable[[dict[str, Any], int], Invocation], system: System
    ) -> None:
        """Each gets its number, and so does their ordinary neighbour."""
        records = [
            generated_event()["Records"][0]
            | {"messageId": f"message-{serial}", "body": json.dumps(body)}
            for serial, body in enumerate(ticket_fields("ODD") for _ in range(3))
        ]
        del records[0]["attributes"]
        records[1]["unexpected"] = {"nested": [1, 2, 3]}
        records[1]["attributes"]["Unexpected"] = "text"

        invocation = give({"Records": records}, 3)

        assert invocation.response == NO_FAILURE
        assert invocation.outcomes == {
            f"message-{serial}": "assigned" for serial in range(3)
        }
        assert {each["id"] for each in system.events("ODD")} == {
            "ODD-1",
            "ODD-2",
            "ODD-3",
        }
        assert system.audit("ODD").numbers == (1, 2, 3)
        assert system.audit("ODD").is_clean
