"""The check of `make test-aws`, from end to end on an emulator with access control."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.aws.contention import Reader
from tests.aws.findings import contradictions, of_cancellations, of_reads
from tests.aws.meter import Cancelled
from tests.aws.tables import Items
from tests.support.access_control import access_control
from tests.support.conformance.case import FAILED
from tests.support.markdown_commands import ROOT
from ticketctl.local.clients import OWNER, REGION, Clients
from ticketctl.local.emulator import Emulator, running_emulator

PERMISSIONS: Final = ROOT / "docs" / "examples" / "check-permissions.json"
CONFLICT: Final = "TransactionConflict"


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    settings = access_control(tmp_path_factory.mktemp("certificate"))
    with running_emulator(settings=settings) as running:
        yield running


@pytest.fixture(scope="module")
def owner(emulator: Emulator) -> Iterator[Clients]:
    with Clients(emulator.endpoint_url, OWNER, emulator.ca_bundle) as clients:
        yield clients


@pytest.fixture(scope="module")
def environment(emulator: Emulator, owner: Clients) -> Mapping[str, str]:
    """Return the environment of a user with the documented rights."""
    permissions = PERMISSIONS.read_text(encoding="utf-8")
    iam = owner.client("iam")
    iam.create_user(UserName="check")
    iam.put_user_policy(UserName="check", PolicyName="p", PolicyDocument=permissions)
    key = iam.create_access_key(UserName="check")["AccessKey"]
    return os.environ | {
        "AWS_ENDPOINT_URL": emulator.endpoint_url,
        "AWS_CA_BUNDLE": str(emulator.ca_bundle),
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
        "PYTHONPATH": "src:lab",
    }


def start(environment: Mapping[str, str], *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(  # noqa: S603 - our own command.
        [sys.executable, "-m", "tests.aws", *options],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.emulator
class TestRun:
    """Its rights are enough, and it leaves a report and no table."""

    def test_report_has_what_was_seen_when_the_run_is_over(
        self, environment: Mapping[str, str], owner: Clients, tmp_path: Path
    ) -> None:
        path = tmp_path / "reports" / "report.json"

        with start(
            environment, "--yes", "--seconds", "2", "--report", str(path)
        ) as process:
            _, remarks = process.communicate()

        assert process.returncode == 0, remarks
        assert "creates two on-demand tables, numbering-check-" in remarks
        report = json.loads(path.read_text())
        assert report["contradicted"] == []
        assert report["cannot_show"]
        assert {"TransactWriteItems", "Query"} <= report["latencies_ms"].keys()
        for times in report["latencies_ms"].values():
            assert 0 < times["p50"] <= times["p90"] <= times["p99"]
        assert report["units"]["write"] > 0 < report["dollars"]
        assert report["tables"]["last_numbers"]["ONE"] > 0
        [one] = [
            part for part in report["contention"].values() if part["projects"] == 1
        ]
        assert one["cancellations"]["failed_conditions"] > 0 < one["reads"]["queries"]
        assert report["transactional_read"]["tickets"] > 0
        assert owner.client("dynamodb").list_tables()["TableNames"] == []

    def test_tables_are_deleted_when_it_is_interrupted(
        self, environment: Mapping[str, str], owner: Clients, tmp_path: Path
    ) -> None:
        list_tables = owner.client("dynamodb").list_tables
        path = tmp_path / "report.json"

        with start(environment, "--yes", "--report", str(path)) as process:
            assert process.stderr
            while "workers: 1" not in process.stderr.readline():
                assert process.poll() is None
            assert len(list_tables()["TableNames"]) == 2
            process.send_signal(signal.SIGINT)
            process.stderr.read()

        assert process.returncode == 130
        assert list_tables()["TableNames"] == []
        assert not path.exists()

    def test_nothing_is_created_when_nobody_agrees(
        self, environment: Mapping[str, str], owner: Clients, tmp_path: Path
    ) -> None:
        path = tmp_path / "report.json"

        with start(environment, "--report", str(path)) as process:
            _, remarks = process.communicate()

        assert process.returncode != 0
        assert "costs less than $" in remarks
        assert owner.client("dynamodb").list_tables()["TableNames"] == []


def ticket(number: int, key: str) -> dict[str, Any]:
    return {
        "project_id": {"S": "PROJ"},
        "number": {"N": str(number)},
        "idempotency_key": {"S": key},
    }


def record(key: str) -> dict[str, Any]:
    return {"id": {"S": f"PROJ#{key}"}}


def items(*keys: str) -> Items:
    """Return the items of a sequence whose numbers these keys have."""
    return Items(
        {("PROJ", number): ticket(number, key) for number, key in enumerate(keys, 1)},
        {f"PROJ#{key}": record(key) for key in keys},
    )


def cancelled(first: int, codes: Sequence[str], *keys: str) -> Cancelled:
    """Return a cancelled block; a failed condition shows the ticket of key `a`."""
    puts = [
        item
        for number, key in enumerate(keys, first)
        for item in (ticket(number, key), record(key))
    ]
    shown = {"Item": ticket(first, "a")}
    return Cancelled(
        puts, [{"Code": code, **(shown if code == FAILED else {})} for code in codes]
    )


class Answers:
    """A client whose queries have these answers."""

    def __init__(self, *pages: Sequence[Mapping[str, Any]]) -> None:
        self._pages = iter(pages)

    def query(self, **_: Any) -> dict[str, Any]:
        return {"Items": next(self._pages)}


class TestFindings:
    """AWS could contradict the proof; then the report says so."""

    def test_failed_condition_contradicts_when_the_item_is_another_one(self) -> None:
        blocks = [cancelled(1, [FAILED, "None"], "c")]

        assert not [*contradictions(of_cancellations(blocks, items("a")))]
        assert [*contradictions(of_cancellations(blocks, items("b")))]
        assert [*contradictions(of_cancellations(blocks, items()))]

    def test_conflict_left_the_number_free_when_its_own_ticket_got_it(self) -> None:
        blocks = [cancelled(1, [CONFLICT, "None"], "a")]

        for key, count in {"a": 1, "b": 0}.items():
            found = of_cancellations(blocks, items(key))
            assert found["conflicts_of_a_number_that_stayed_free"] == count
            assert found["reasons"] == {CONFLICT: 1}

    @pytest.mark.parametrize(
        ("codes", "count"),
        [
            (["None", "None", FAILED, "None"], 1),
            ([FAILED, "None", "None", "None"], 0),
            ([CONFLICT, "None", FAILED, "None"], 0),
        ],
    )
    def test_reason_is_left_out_when_a_higher_number_is_taken(
        self, codes: Sequence[str], count: int
    ) -> None:
        found = of_cancellations([cancelled(1, codes, "c", "d")], items("a", "b"))

        assert found["with_a_reason_left_out"] == count

    def test_read_contradicts_when_the_ticket_is_another_one_in_the_end(self) -> None:
        reader = Reader(Answers([ticket(1, "a")], []), "tickets", "PROJ")
        reader.look()

        assert not [*contradictions(of_reads(reader, items("a")))]
        assert [*contradictions(of_reads(reader, items("b")))]

    def test_query_contradicts_when_it_lacks_a_number_seen_before(self) -> None:
        first, second = ticket(1, "a"), ticket(2, "b")
        reader = Reader(Answers([second, first], [], [first], []), "tickets", "PROJ")

        reader.look()
        assert not [*contradictions(of_reads(reader, items("a", "b")))]
        reader.look()

        assert [*contradictions(of_reads(reader, items("a", "b")))]

    def test_reads_are_half_and_stale_when_numbers_are_missing(self) -> None:
        first, second = ticket(1, "a"), ticket(2, "b")
        third = ticket(3, "c")
        pages = [[third, first], [first], [third, second, first], [third]]
        reader = Reader(Answers(*pages), "tickets", "PROJ")
        reader.look()
        reader.look()

        found = of_reads(reader, items("a", "b", "c"))

        assert (found["queries"], found["half_seen_blocks"], found["stale"]) == (
            2,
            1,
            1,
        )
