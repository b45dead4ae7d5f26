"""What the log holds at each level that an operator can set, and never holds."""

import json
import logging
import os
import subprocess
import sys
from datetime import datetime
from typing import Any

import pytest

import ticket_numbering.observability  # noqa: F401 - it sets the levels.
from tests.support.markdown_commands import ROOT
from tests.support.template_loader import parameters

HANDLE_ONE = """
from simulation.aws.lambda_service import Context
from tests.support.builders import sqs_event, sqs_record
from tests.support.fakes import FakePublisher, FakeDeadLetters
from tests.support.fakes import FakeTicketStore
from ticket_numbering.allocation import Allocator
from ticket_numbering.handler import build_handler
from ticket_numbering.worker import Worker

allocator = Allocator(FakeTicketStore(), 3, 10.0)
handle = build_handler(Worker(allocator, FakePublisher(), FakeDeadLetters()))
handle(sqs_event(sqs_record()), Context())
"""


def printed_at(level: str) -> list[dict[str, Any]]:
    """Return what a process prints that numbers one message at a level."""
    result = subprocess.run(  # noqa: S603 - fixed arguments.
        [sys.executable, "-c", HANDLE_ONE],
        check=True,
        capture_output=True,
        cwd=ROOT,
        env=os.environ
        | {"POWERTOOLS_LOG_LEVEL": level, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
    )
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("level", parameters()["LogLevel"]["AllowedValues"])
def test_metrics_are_printed_whatever_the_level_is(level: str) -> None:
    """Two alarms and the rollback of a deployment look at them."""
    counted = [line for line in printed_at(level) if "_aws" in line]

    assert any("TicketNumbersAssigned" in line for line in counted)


@pytest.mark.parametrize(
    ("level", "outcomes"), [("INFO", ["assigned"]), ("WARN", []), ("ERROR", [])]
)
def test_outcome_of_a_numbered_message_is_logged_when_the_level_allows_it(
    level: str, outcomes: list[str]
) -> None:
    """The logger obeys the variable that the template sets."""
    lines = printed_at(level)

    assert [line["outcome"] for line in lines if "outcome" in line] == outcomes


def test_time_of_a_line_is_rfc_3339() -> None:
    """A `T`, a point and a colon in the offset, as those who read logs expect."""
    [line] = [line for line in printed_at("INFO") if "outcome" in line]

    parsed = datetime.fromisoformat(line["timestamp"])
    assert parsed.tzinfo is not None
    assert parsed.isoformat(timespec="milliseconds") == line["timestamp"]


@pytest.mark.parametrize("library", ["boto3", "botocore.endpoint", "urllib3.util"])
def test_libraries_that_log_requests_stay_silent_when_all_is_logged(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever level the root logger has."""
    monkeypatch.setattr(logging.getLogger(), "level", logging.DEBUG)

    assert not logging.getLogger(library).isEnabledFor(logging.INFO)
