"""The pages say what is so: alarms, commands, fields, rights."""

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
from tests.support.template_loader import ids_of, properties, source
from ticket_numbering.allocation import Allocator
from ticket_numbering.dynamodb_items import key_item, ticket_item
from ticket_numbering.handler import build_handler
from ticket_numbering.observability import logger
from ticket_numbering.worker import Worker
from ticketctl.audit.findings import Kind
from ticketctl.cli.app import LOCAL
from ticketctl.commands import app

OPERATIONS = ROOT / "docs" / "operations.md"
TEXT = OPERATIONS.read_text(encoding="utf-8")
LOG_READERS = [shown for shown in on_all_pages("aws") if shown.words[0] == "logs"]


def row(text: str, start: str) -> list[str]:
    """Return the cells of a table's row, by what its first cell begins with."""
    [line] = [each for each in text.splitlines() if each.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def section(title: str) -> str:
    """Return what stands under a heading, whatever its level."""
    return re.split(r"^#+ ", TEXT.partition(f"# {title}\n")[2], flags=re.MULTILINE)[0]


# As the runtime interface client of Python (`bootstrap.log_error`) and Lambda itself
# write them in the log format `Text`.
CRASHES = [
    "[ERROR] ClientError: AccessDenied\rTraceback (most recent call last):\r...",
    "[ERROR] Runtime.ImportModuleError: Unable to import module 'ticket_numbering'",
    "2026-11-21T05:53:30.123Z 9a1c7fd5 Task timed out after 30.03 seconds",
    "RequestId: 9a1c7fd5 Error: Runtime exited with error: signal: killed",
    "REPORT RequestId: 9a1c7fd5\tDuration: 30000.00 ms\tStatus: timeout",
    "INIT_REPORT Init Duration: 812.11 ms\tPhase: init\tStatus: error\tError Type: X",
]
ORDINARY = [
    "START RequestId: 9a1c7fd5 Version: 7",
    "END RequestId: 9a1c7fd5",
    "REPORT RequestId: 9a1c7fd5\tDuration: 45.10 ms\tMax Memory Used: 99 MB",
]


def option(shown: Shown, name: str) -> str:
    """Return the value of an option of a command."""
    return shown.words[shown.words.index(f"--{name}") + 1]


def first_pattern(logical_id: str) -> str:
    """Return what the first command of an alarm looks for in the log."""
    shown = commands("aws", row(section("Alarms"), f"`{logical_id}`")[2])[0]
    return option(shown, "filter-pattern")


def finds(pattern: str, line: str) -> bool:
    """Tell whether CloudWatch finds a line: any of some texts, or a field's value."""
    if field := re.fullmatch(r'\{ \$\.(\w+) = "(\w+)" \}', pattern):
        return bool(json.loads(line).get(field[1]) == field[2])
    assert re.fullmatch(r'(\?"[^"]+" ?)+', pattern), pattern
    return any(text in line for text in re.findall(r'"([^"]+)"', pattern))


class TestAlarms:
    """Whoever is called by an alarm finds it on the page."""

    @pytest.mark.parametrize("logical_id", ids_of("AWS::CloudWatch::Alarm"))
    def test_alarm_has_a_meaning_a_first_command_and_a_remedy(
        self, logical_id: str
    ) -> None:
        """A row of the table, with a command that can be copied."""
        _, meaning, first, remedy = row(section("Alarms"), f"`{logical_id}`")

        assert meaning.endswith(".")
        assert commands("ticketctl", first) + commands("aws", first)
        assert remedy.endswith(".")

    @pytest.mark.parametrize("shown", LOG_READERS, ids=str)
    def test_command_that_reads_the_log_shows_the_newest_lines_of_the_last_hour(
        self, shown: Shown
    ) -> None:
        """CloudWatch begins with the oldest line of the whole log."""
        start = option(shown, "start-time").replace('"', "")
        said = subprocess.run(  # noqa: S603 - a page of ours.
            ["/bin/sh", "-c", f'echo "{start}"'], check=True, capture_output=True
        )
        assert int(said.stdout) / 1000 == pytest.approx(time.time() - 3600, abs=60)

        events = [{"timestamp": line, "message": str(line)} for line in range(100)]
        shows = jmespath.search(option(shown, "query"), {"events": events})
        assert shows == [str(line) for line in range(99, 79, -1)]

    @pytest.mark.parametrize("line", CRASHES)
    def test_first_command_finds_a_crash_when_the_worker_errs(self, line: str) -> None:
        """Whatever way the worker died, the runtime or Lambda wrote such a line."""
        assert finds(first_pattern("WorkerErrorsAlarm"), line)

    @pytest.mark.parametrize(
        ("logical_id", "outcomes"),
        [
            ("WorkerErrorsAlarm", []),
            ("TransientFailuresAlarm", ["transient", "transient"]),
            ("AnnouncementsFailedAlarm", ["transient"]),
        ],
    )
    def test_first_command_finds_the_lines_of_the_worker_that_the_alarm_is_about(
        self,
        monkeypatch: pytest.MonkeyPatch,
        logical_id: str,
        outcomes: list[str],
    ) -> None:
        """Among those of each outcome, a bug that was contained included."""
        lines = logged_lines(monkeypatch)

        found = [
            line for line in lines if finds(first_pattern(logical_id), json.dumps(line))
        ]
        assert [line["outcome"] for line in found] == outcomes

    @pytest.mark.parametrize("line", ORDINARY)
    def test_first_command_finds_nothing_when_all_is_well(self, line: str) -> None:
        """The lines that Lambda writes for each batch."""
        assert not finds(first_pattern("WorkerErrorsAlarm"), line)

    def test_page_names_no_alarm_that_is_gone(self) -> None:
        """Nor one with a typing error."""
        assert set(re.findall(r"\b\w+Alarm\b", TEXT)) == set(
            ids_of("AWS::CloudWatch::Alarm")
        )

    def test_template_and_dashboard_lead_to_the_page(self) -> None:
        """By its path."""
        body = properties("NumberingDashboard")["DashboardBody"]["Fn::Sub"]

        assert "docs/operations.md" in body
        assert OPERATIONS.is_file()


def logged_lines(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return real outcome lines, of each outcome."""
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


def logged_fields(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """Return the fields of the real outcome lines, by outcome."""
    found: dict[str, set[str]] = {}
    for line in logged_lines(monkeypatch):
        kind = "bug" if "exception" in line else line["outcome"]
        found.setdefault(kind, set()).update(line)
    return found


class TestLog:
    """Who asks the log for a field gets an answer."""

    def test_outcome_lines_have_the_fields_of_the_table(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The real handler's lines, of each outcome."""
        fields = logged_fields(monkeypatch)
        table = section("What is logged")
        named = set(
            re.findall(
                r"`(\w+)`",
                "".join(
                    line.split(" | ")[0]
                    for line in table.splitlines()
                    if line.startswith("| `")
                ),
            )
        )

        assert fields.keys() == {"assigned", "replayed", "poison", "transient", "bug"}
        assert named <= set.union(*fields.values())
        common = {"message", "level", "outcome", "message_id", "receive_count"}
        assert common < set.intersection(*fields.values())
        assert {"error_type", "field"} <= fields["poison"]
        assert {"error_type", "error"} <= fields["transient"]
        assert "error" not in fields["poison"]
        assert "ticket_key" in fields["assigned"] & fields["replayed"]

    @pytest.mark.parametrize("query", blocks(TEXT, "text"))
    def test_query_asks_for_fields_that_exist(
        self, monkeypatch: pytest.MonkeyPatch, query: str
    ) -> None:
        """Those of the outcome lines, or of Lambda's own."""
        known = set.union(*logged_fields(monkeypatch).values())
        # CloudWatch Logs User Guide, "Supported logs and discovered fields", of Lambda.
        discovered = {"timestamp", "type", "requestId", "duration", "initDuration"}
        discovered |= {"maxMemoryUsed"}
        words = {"fields", "filter", "sort", "limit", "stats", "desc", "and", "or"}
        words |= {"in", "by", "count", "as", "bin", "5m", "failures"}

        asked = set(re.findall(r"(?<![@.\w])[a-z]\w*", re.sub(r'"[^"]*"', "", query)))
        assert asked - words <= known
        assert set(re.findall(r"@(\w+)", query)) <= discovered


class TestTables:
    """Who fixes an item knows what belongs into it."""

    def test_items_of_the_worker_have_the_attributes_of_the_page(self) -> None:
        """All that the worker can write, and nothing that it cannot."""
        request = create_ticket(
            description="d", reporter="r", labels=["l"], attributes={"a": "b"}
        )
        stamp = "2026-11-21T05:53:00.123Z"
        tickets, keys = section("What the tables hold").split("The keys' table")
        ours = {"status", "origin", "reserved_up_to", "reserved_after"}

        assert attributes(tickets) - ours == set(ticket_item(request, 1, stamp))
        assert attributes(keys) == set(key_item(request, 1, stamp, expires_at=1))


def attributes(text: str) -> set[str]:
    """Return the names in the first column of a table."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return {
        name for line in lines for name in re.findall(r"`(\w+)`", line.split(" | ")[0])
    }


class TestFindings:
    """Who is sent here by an audit finds what to do."""

    @pytest.mark.parametrize("kind", Kind)
    def test_finding_has_a_remedy(self, kind: Kind) -> None:
        """A row of the table, under the name that the audit gives it."""
        _, meaning, remedy = row(section("Findings of an audit"), f"`{kind}`")

        assert meaning.endswith(".")
        assert len(remedy) > len("Look.")


RESTORE = TEXT.partition("## Restore\n")[2].partition("\n## ")[0]
RESTORING = commands("aws", RESTORE)
RESTORED = [
    (place, option(shown, "target-table-name"))
    for place, shown in enumerate(RESTORING)
    if shown.words[1].startswith("restore-table-")
]


class TestRestore:
    """Who follows the steps waits for what takes its time, and deletes nothing soon."""

    def test_wait_goes_on_when_the_waiter_gives_up(self) -> None:
        """It does after 25 looks, and a restore takes longer."""
        lines = [line.strip() for line in RESTORE.splitlines()]
        waits = [line for line in lines if " wait table-exists " in line]

        assert waits
        assert all(line.startswith("$ until aws dynamodb wait ") for line in waits)

    @pytest.mark.parametrize(("place", "table"), RESTORED)
    def test_restored_table_is_waited_for_before_it_is_used(
        self, place: int, table: str
    ) -> None:
        """DynamoDB refuses nearly everything while it restores."""
        after = next(shown for shown in RESTORING[place + 1 :] if table in shown.words)

        assert after.words[:3] == ("dynamodb", "wait", "table-exists")

    def test_old_table_is_deleted_when_the_backup_is_there(self) -> None:
        """Until then nothing else holds what was restored."""
        operations = [shown.words[1] for shown in RESTORING]
        made = operations.index("create-backup")

        steps = operations[made : operations.index("delete-table")]
        assert steps == ["create-backup", "describe-backup", "update-table"]

    def test_deleted_table_is_restored_from_the_backup_of_the_system(self) -> None:
        """Point-in-time recovery needs the table that is gone."""
        of_deleted = commands(
            "aws", section("A table was deleted: bring its last backup back")
        )

        assert [shown.words[1] for shown in of_deleted] == [
            "list-backups",
            "restore-table-from-backup",
            "wait",
        ]
        assert option(of_deleted[0], "backup-type") == "SYSTEM"


class TestRights:
    """Who is given these rights can do the work, and AWS knows them."""

    @pytest.mark.parametrize(
        "policy", [json.loads(each) for each in blocks(TEXT, "json")]
    )
    def test_policy_is_one_that_iam_can_read(self, policy: dict[str, Any]) -> None:
        """Each action stands for an operation, and none for more than one."""
        assert policy["Version"] == "2012-10-17"
        for statement in policy["Statement"]:
            assert statement.keys() == {"Effect", "Action", "Resource"}
            actions = statement["Action"]
            for action in [actions] if isinstance(actions, str) else actions:
                check_action(action)

    @pytest.mark.parametrize("action", sorted(set(re.findall(r"`(\w+:\w+)`", TEXT))))
    def test_right_of_a_sentence_is_one_that_aws_knows(self, action: str) -> None:
        """No typing error goes into somebody's policy."""
        check_action(action)

    @pytest.mark.parametrize("shown", commands("aws", TEXT, "operations.md"), ids=str)
    def test_command_of_the_page_has_its_right_on_the_page(self, shown: Shown) -> None:
        """Who is called at night need not ask for it then."""
        service, operation = called(shown.words)

        named = re.findall(r"[`\"](\w+:\w+)[`\"]", TEXT.partition("# Rights\n")[2])
        assert f"{service}:{operation}" in named

    def test_every_command_that_needs_a_stack_has_a_row(self) -> None:
        """Whoever may use one command need not be given the rights of all."""
        group: Any = typer.main.get_command(app)
        names = {
            f"ticketctl {name}" if command is leaf else f"ticketctl {name} {leaf.name}"
            for name, command in group.commands.items()
            for leaf in getattr(command, "commands", {"": command}).values()
            if command.rich_help_panel != LOCAL
        }

        rows = [each.split(" | ")[0] for each in section("Rights").splitlines()]
        named = {
            each for line in rows for each in re.findall(r"`(ticketctl[^`]+)`", line)
        }
        assert names <= named


def check_action(action: str) -> None:
    """Check that an action is named as an operation of its service."""
    service, _, name = action.partition(":")
    assert service in sdk().get_available_services(), f"no service {service}"
    assert name in sdk().get_service_model(service).operation_names, f"no {action}"


class TestParameters:
    """A parameter that the page names can be set."""

    def test_parameters_that_are_named_exist(self) -> None:
        """Of the template, or of the function in it."""
        starts = "Alarm|Batch|Gradual|IdempotencyRetention|Log|Max|QueueType|TopicType"
        named = set(re.findall(rf"`((?:{starts})\w*)[`=]", TEXT))

        assert {"MaximumConcurrency", "GradualDeployment"} <= named
        assert named <= set(source()["Parameters"])
