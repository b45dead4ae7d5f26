"""The content of the log at each level that an operator can set."""

import json
import logging
import os
import subprocess
import sys
from datetime import datetime

import pytest

import ticket_numbering.worker.observability  # noqa: F401 - it sets the levels.
from tests.support.paths import ROOT
from tests.support.template_loader import parameters

HANDLE_ONE = """
from simulation.aws.lambda_service import Context
from tests.support.builders import sqs_event, sqs_record
from tests.support.worker_on_fakes import WorkerOnFakes
from ticket_numbering.worker.handler import build_handler

handle = build_handler(WorkerOnFakes().worker())
handle(sqs_event(sqs_record()), Context())
"""


@pytest.mark.parametrize("level", parameters()["LogLevel"]["AllowedValues"])
def test_level_silences_outcomes_and_never_metrics(level: str) -> None:
    """Two alarms and the rollback of a deployment look at the metrics."""
    result = subprocess.run(  # noqa: S603 - fixed arguments.
        [sys.executable, "-c", HANDLE_ONE],
        check=True,
        capture_output=True,
        cwd=ROOT,
        env=os.environ
        | {"POWERTOOLS_LOG_LEVEL": level, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    lines = [json.loads(line) for line in result.stdout.splitlines()]
    outcomes = [line for line in lines if "outcome" in line]
    assert any("TicketNumbersAssigned" in line for line in lines if "_aws" in line)
    assert len(outcomes) == (level in {"DEBUG", "INFO"})
    for line in outcomes:
        time = datetime.fromisoformat(line["timestamp"])
        assert time.tzinfo is not None
        assert time.isoformat(timespec="milliseconds") == line["timestamp"]


@pytest.mark.parametrize("library", ["boto3", "botocore.endpoint", "urllib3.util"])
def test_libraries_that_log_requests_stay_silent_when_all_is_logged(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "level", logging.DEBUG)

    assert not logging.getLogger(library).isEnabledFor(logging.INFO)
