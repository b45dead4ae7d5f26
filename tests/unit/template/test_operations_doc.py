"""The operators' page says what is so: alarms, log, tables, restores, rights."""

import io
import json
import re
import subprocess
import time
from typing import Any

import jmespath  # type: ignore[import-untyped]
import pytest
import typer

from simulation.aws.lambda_service import Context
from tests.support.aws_cli import called, sdk
from tests.support.builders import create_ticket, sqs_event, sqs_record
from tests.support.fakes import (
    FakeDeadLetters,
    FakePublisher,
    FakeTicketStore,
    FakeTime,
)
from tests.support.markdown_commands import (
    ROOT,
    Shown,
    blocks,
    commands,
    on_all_pages,
)
from tests.support.template_loader import ids_of, parameters
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.contract.dynamodb_items import key_item, ticket_item
from ticket_numbering.contract.errors import PoisonMessageError, TransientError
from ticket_numbering.worker.handler import build_handler
from ticket_numbering.worker.observability import logger
from ticket_numbering.worker.worker import Worker
from ticketctl.audit.findings import Kind
from ticketctl.commands import app
from ticketctl.commands.application import LOCAL

TEXT = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
ALARMS = ids_of("AWS::CloudWatch::Alarm")


def section(title: str) -> str:
    """Return what stands under a heading, whatever its level."""
    _, heading, text = TEXT.partition(f"# {title}\n")
    assert heading, title
    return re.split(r"^#+ ", text, flags=re.MULTILINE)[0]


def table(text: str) -> dict[str, list[str]]:
    """Return the other cells of the rows whose first cell is code, by that."""
    rows = (line.strip("|").split(" | ") for line in text.splitlines())
    return {
        cells[0].strip(): [cell.strip() for cell in cells[1:]]
        for cells in rows
        if cells[0].startswith(" `")
    }


def names(rows: dict[str, list[str]], pattern: str = r"`(\w+)`") -> set[str]:
    return {name for first in rows for name in re.findall(pattern, first)}


def option(shown: Shown, name: str) -> str:
    return shown.words[shown.words.index(f"--{name}") + 1]


def finds(logical_id: str, line: str) -> bool:
    """Tell whether the first command of an alarm finds a line of the log.

    CloudWatch looks for any of some texts, or for a field's value.
    """
    first = table(section("Alarms"))[f"`{logical_id}`"][1]
    pattern = option(commands("aws", first)[0], "filter-pattern")
    if field := re.fullmatch(r'\{ \$\.(\w+) = "(\w+)" \}', pattern):
        return bool(json.loads(line).get(field[1]) == field[2])
    assert re.fullmatch(r'(\?"[^"]+" ?)+', pattern), pattern
    return any(text in line for text in re.findall(r'"([^"]+)"', pattern))


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return real outcome lines, of every outcome and of a bug."""
    out = io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", out)
    publisher = FakePublisher(refused={"PROJ-2"})
    allocator = Allocator(FakeTicketStore(), 3, 10.0)
    worker = Worker(allocator, publisher, FakeDeadLetters(), FakeTime().sleep)
    handle = build_handler(worker)
    request = create_ticket()
    batch = [sqs_record(request), sqs_record(request), sqs_record("{"), sqs_record()]
    handle(sqs_event(*batch), Context())
    publisher.bug = RuntimeError("boom")
    handle(sqs_event(sqs_record()), Context())
    return [json.loads(line) for line in out.getvalue().splitlines()]


class TestAlarms:
    """Whoever is called by an alarm finds it on the page."""

    def test_page_names_exactly_the_alarms_there_are(self) -> None:
        assert set(re.findall(r"\b\w+Alarm\b", TEXT)) == set(ALARMS)

    @pytest.mark.parametrize("logical_id", ALARMS)
    def test_alarm_has_a_meaning_a_first_command_and_a_remedy(
        self, logical_id: str
    ) -> None:
        meaning, first, remedy = table(section("Alarms"))[f"`{logical_id}`"]

        assert meaning.endswith(".")
        assert commands("ticketctl", first) + commands("aws", first)
        assert remedy.endswith(".")

    @pytest.mark.parametrize(
        "shown",
        [shown for shown in on_all_pages("aws") if "filter-log-events" in shown.words],
        ids=str,
    )
    def test_command_that_reads_the_log_shows_the_newest_lines_of_the_last_hour(
        self, shown: Shown
    ) -> None:
        """CloudWatch begins with the oldest line of the whole log."""
        start = option(shown, "start-time").replace('"', "")
        printed = subprocess.run(  # noqa: S603 - a page of ours.
            ["/bin/sh", "-c", f'echo "{start}"'], check=True, capture_output=True
        ).stdout
        assert int(printed) / 1000 == pytest.approx(time.time() - 3600, abs=60)

        events = [{"message": serial} for serial in range(100)]
        shows = jmespath.search(option(shown, "query"), {"events": events})
        assert shows == [*range(99, 79, -1)]

    def test_first_command_finds_a_crash_and_no_ordinary_line(self) -> None:
        """As the runtime interface client of Python and Lambda itself write them."""
        crashes = [
            "[ERROR] ClientError: AccessDenied\rTraceback (most recent call last):",
            "[ERROR] Runtime.ImportModuleError: Unable to import module 'x'",
            "2026-11-21T05:53:30.123Z 9a1c Task timed out after 30.03 seconds",
            "RequestId: 9a1c Error: Runtime exited with error: signal: killed",
            "REPORT RequestId: 9a1c\tDuration: 30000.00 ms\tStatus: timeout",
            "INIT_REPORT Init Duration: 812.11 ms\tPhase: init\tStatus: error",
        ]
        ordinary = [
            "START RequestId: 9a1c Version: 7",
            "REPORT RequestId: 9a1c\tDuration: 45.10 ms\tMax Memory Used: 99 MB",
        ]

        found = [
            line for line in crashes + ordinary if finds("WorkerErrorsAlarm", line)
        ]
        assert found == crashes

    @pytest.mark.parametrize(
        ("logical_id", "outcomes"),
        [
            ("WorkerErrorsAlarm", []),
            ("TransientFailuresAlarm", ["transient", "transient"]),
            ("AnnouncementsFailedAlarm", ["transient"]),
        ],
    )
    def test_first_command_finds_the_lines_that_the_alarm_is_about(
        self, logged: list[dict[str, Any]], logical_id: str, outcomes: list[str]
    ) -> None:
        found = [line for line in logged if finds(logical_id, json.dumps(line))]

        assert [line["outcome"] for line in found] == outcomes


class TestLog:
    """Who asks the log for a field gets an answer."""

    def test_fields_of_the_table_are_logged(self, logged: list[dict[str, Any]]) -> None:
        rows = table(section("Log lines"))
        always = {first: row for first, row in rows.items() if row[0] == "always"}

        assert names(rows) <= set().union(*logged)
        assert names(always) <= set.intersection(*map(set, logged))

    @pytest.mark.parametrize("query", blocks(TEXT, "text"))
    def test_query_asks_for_fields_that_exist(
        self, logged: list[dict[str, Any]], query: str
    ) -> None:
        """Those of the outcome lines, or of Lambda's own."""
        # CloudWatch Logs User Guide, "Supported logs and discovered fields", of Lambda.
        discovered = {"timestamp", "type", "requestId", "duration", "initDuration"}
        discovered |= {"maxMemoryUsed"}
        words = {"fields", "filter", "sort", "limit", "stats", "desc", "and", "or"}
        words |= {"in", "by", "as", "bin", "count", "failures"}

        asked = set(re.findall(r"(?<![@.\w])[a-z]\w*", re.sub(r'"[^"]*"', "", query)))
        assert asked - words <= set().union(*logged)
        assert set(re.findall(r"@(\w+)", query)) <= discovered


@pytest.mark.parametrize(
    ("title", "base"),
    [("Transient failures", TransientError), ("Dead letters", PoisonMessageError)],
)
def test_every_error_of_a_kind_has_a_remedy(title: str, base: type[Exception]) -> None:
    errors, found = base.__subclasses__(), set[str]()
    while errors:
        error = errors.pop()
        errors += error.__subclasses__()
        found.add(error.__name__)

    assert {*re.findall(r"`(\w+Error)`", " ".join(table(section(title))))} == found


def test_items_of_the_worker_have_the_attributes_of_the_page() -> None:
    """All that the worker can write; a seed's and a void's are ticketctl's."""
    request = create_ticket(
        description="d", reporter="r", labels=["l"], attributes={"a": "b"}
    )
    tickets, keys = section("The tables' attributes").split("The keys' table")
    of_tools = {"status", "origin", "reserved_up_to", "reserved_after"}

    assert names(table(tickets)) - of_tools == set(ticket_item(request, 1, "now"))
    assert names(table(keys)) == set(key_item(request, 1, "now", expires_at=1))


def test_findings_of_an_audit_have_a_meaning_and_a_remedy() -> None:
    rows = table(section("Findings of an audit"))

    assert names(rows, r"`([\w-]+)`") == {kind.value for kind in Kind}
    assert all(meaning and remedy for meaning, remedy in rows.values())


RESTORE = TEXT.partition("## Restore\n")[2].partition("\n## ")[0]
STEPS = [shown.words for shown in commands("aws", RESTORE)]


class TestRestore:
    """Who follows the steps waits for what takes its time, and deletes nothing soon."""

    def test_restored_table_is_waited_for_before_it_is_used(self) -> None:
        """DynamoDB refuses nearly everything meanwhile; one wait gives up too soon."""
        restores = [
            (place, words[words.index("--target-table-name") + 1])
            for place, words in enumerate(STEPS)
            if words[1].startswith("restore-table-")
        ]

        assert restores
        for place, name in restores:
            after = next(words for words in STEPS[place + 1 :] if name in words)
            assert after[1:3] == ("wait", "table-exists")
        waits = [line for line in RESTORE.splitlines() if " wait table-" in line]
        assert all("$ until aws dynamodb wait " in line for line in waits)

    def test_old_table_is_deleted_when_the_backup_is_there(self) -> None:
        """Until then nothing else holds what was restored."""
        operations = [words[1] for words in STEPS]

        made = operations.index("create-backup")
        assert operations[made + 1] == "describe-backup"
        assert operations.index("delete-table") > made + 1

    def test_deleted_table_is_restored_from_the_backup_of_the_system(self) -> None:
        """Point-in-time recovery needs the table that is gone."""
        title = "A table was deleted: bring its last backup back"
        listed, restored, *_ = commands("aws", section(title))

        assert option(listed, "backup-type") == "SYSTEM"
        assert restored.words[1] == "restore-table-from-backup"


RIGHTS = set(re.findall(r"[`\"](\w+:\w+)[`\"]", TEXT))


class TestRights:
    """Who is given these rights can do the work, and AWS knows them."""

    @pytest.mark.parametrize("action", sorted(RIGHTS))
    def test_right_is_one_that_aws_knows(self, action: str) -> None:
        service, _, name = action.partition(":")
        assert name in sdk().get_service_model(service).operation_names

    @pytest.mark.parametrize("shown", commands("aws", TEXT), ids=str)
    def test_command_of_the_page_has_its_right_on_the_page(self, shown: Shown) -> None:
        """Who is called at night need not ask for it then."""
        assert ":".join(called(shown.words)) in RIGHTS

    def test_every_command_that_needs_a_stack_has_a_row(self) -> None:
        """Whoever may use one command need not be given the rights of all."""
        group: Any = typer.main.get_command(app)
        needing = {
            f"ticketctl {name}" if command is leaf else f"ticketctl {name} {leaf.name}"
            for name, command in group.commands.items()
            for leaf in getattr(command, "commands", {"": command}).values()
            if command.rich_help_panel != LOCAL
        }

        assert needing <= names(table(section("Rights")), r"`(ticketctl[^`]+)`")


def test_parameters_that_are_named_exist() -> None:
    starts = "Alarm|Batch|Gradual|IdempotencyRetention|Log|Max|QueueType|TopicType"
    named = set(re.findall(rf"`((?:{starts})\w*)[`=]", TEXT))

    assert named
    assert named <= parameters().keys()
