"""The measuring of the function: its parts on tiny runs, and no judging of times."""

import json
import sys
import sysconfig
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.function import Measured
from benchmarks.function_batches import (
    MAX_EVENT_BYTES,
    Handled,
    events,
    handle,
    largest_event,
)
from benchmarks.function_init import (
    Sample,
    Start,
    by_package,
    compare_starts,
    import_seconds,
)
from benchmarks.function_report import show
from benchmarks.function_site import MeasurementError, Site
from ticket_numbering.messages import MAX_BODY_BYTES, CreateTicket
from ticketctl.local.artifact import SOURCE

SITE = Site(Path(sys.executable), (SOURCE, Path(sysconfig.get_path("purelib"))))
ONE = Sample(1.0, 1.0, 1.0)
MEASURED = Measured(
    start=Start(ONE, ONE, ONE, ONE, ONE, ONE),
    start_without_bytecode=Start(ONE, ONE, ONE, ONE, ONE, ONE),
    imports={"ticket_numbering.handler": 0.05, "pydantic": 0.01},
    needless=[],
    own={size: Handled(ONE, 60.0) for size in (10, 1, 50)},
    with_botocore={size: Handled(ONE, 60.0) for size in (10, 1, 50)},
    largest=Handled(ONE, 100.0),
)


def unmet(measured: Measured) -> list[str]:
    """Return the names of the targets that are not met."""
    return [each["name"] for each in measured.targets() if not each["met"]]


def shown(measured: Measured) -> str:
    """Return what is printed."""
    text = StringIO()
    show(measured.as_dict(), Console(file=text, width=100))
    return text.getvalue()


class TestStart:
    """A start is compared with its neighbour in time."""

    def test_starts_are_compared_by_their_medians(self) -> None:
        """The ratio is of what stands beside it."""
        start = compare_starts(SITE, 2)

        expected = start.function_processor.median / start.baseline_processor.median
        assert start.ratio.median == pytest.approx(expected)
        assert start.function_clock.low > 0

    def test_imports_name_every_module_of_the_function_once(self) -> None:
        """The table is read to find out what to leave out."""
        imports = import_seconds(SITE, 1)

        modules = {f"ticket_numbering.{each.stem}" for each in SOURCE.rglob("*.py")}
        assert modules - set(imports) == {"ticket_numbering.__init__"}
        assert list(imports.values()) == sorted(imports.values(), reverse=True)

    def test_packages_hold_the_times_of_their_modules(self) -> None:
        """Many small modules are as dear as one large one."""
        assert by_package({"a.b": 3.0, "c": 2.5, "a": 1.0}) == {"a": 4.0, "c": 2.5}

    def test_start_is_no_figure_when_it_fails(self, tmp_path: Path) -> None:
        """A wrong answer would be worse than none."""
        with pytest.raises(MeasurementError, match="ticket_numbering"):
            compare_starts(Site(SITE.python, (tmp_path,)), 1)

    def test_sample_is_its_value_when_there_is_one(self) -> None:
        """One pair has no spread."""
        assert Sample.of([2.0]) == Sample(2.0, 2.0, 2.0)


class TestBatches:
    """The real handler over its real adapters; only the services are missing."""

    @pytest.mark.parametrize("mode", ["stub", "wire"])
    def test_batches_are_handled_when_no_service_is_there(self, mode: str) -> None:
        """More records than one announcement takes, more batches than the warm-up."""
        handled = handle(SITE, events(size=12, batches=22), mode)

        assert 0 < handled.microseconds.low <= handled.microseconds.high
        assert handled.peak_megabytes > 1

    def test_batches_are_no_figure_when_records_fail(self) -> None:
        """What gives up at once is fast, and no measure."""
        batch = next(events(1, 1))
        batch["Records"][0]["body"] = "{"

        with pytest.raises(MeasurementError, match="batchItemFailures"):
            handle(SITE, [batch], "stub")

    def test_no_key_comes_twice(self) -> None:
        """A replay would cost something else."""
        bodies = [
            json.loads(record["body"])
            for event in events(size=3, batches=4)
            for record in event["Records"]
        ]

        assert len({body["idempotency_key"] for body in bodies}) == 12

    def test_largest_event_is_as_large_as_the_contract_and_lambda_allow(self) -> None:
        """Valid tickets near their bound, and no room for one more."""
        event = largest_event()

        body = event["Records"][0]["body"]
        size = len(json.dumps(event, ensure_ascii=False).encode())
        assert isinstance(CreateTicket.parse(body), CreateTicket)
        assert 0.9 * MAX_BODY_BYTES < len(body.encode()) <= MAX_BODY_BYTES
        assert MAX_EVENT_BYTES - MAX_BODY_BYTES < size <= MAX_EVENT_BYTES


class TestReport:
    """The verdict follows the figures."""

    def test_targets_are_met_when_the_figures_are_within_them(self) -> None:
        """Each target is named with what was measured."""
        assert unmet(MEASURED) == []
        assert "NOT MET" not in shown(MEASURED)

    @pytest.mark.parametrize(
        ("measured", "name"),
        [
            (
                replace(MEASURED, start=replace(MEASURED.start, ratio=Sample(2, 2, 2))),
                "start, by boto3 and its clients",
            ),
            (
                replace(
                    MEASURED,
                    own=MEASURED.own | {10: Handled(Sample(151, 1, 200), 60.0)},
                ),
                "own µs a record, batch of 10",
            ),
            (
                replace(
                    MEASURED,
                    with_botocore=dict.fromkeys((10, 1, 50), Handled(ONE, 129)),
                ),
                "peak MB, batches of 10",
            ),
            (replace(MEASURED, largest=Handled(ONE, 129)), "peak MB, largest batch"),
            (replace(MEASURED, needless=["unittest"]), "needless modules loaded"),
        ],
    )
    def test_target_is_not_met_when_its_figure_is_beyond_it(
        self, measured: Measured, name: str
    ) -> None:
        """Each bound alone decides on its own target."""
        assert unmet(measured) == [name]
        assert "NOT MET" in shown(measured)

    def test_report_is_json_when_a_script_asks(self) -> None:
        """It holds the targets and all that they rest on."""
        parsed = json.loads(json.dumps(MEASURED.as_dict()))

        assert [each["met"] for each in parsed["targets"]] == [True] * 5
        assert parsed["start"]["ratio"] == {"median": 1.0, "low": 1.0, "high": 1.0}

    def test_report_names_the_needless_modules(self) -> None:
        """Somebody has to find who imports them."""
        assert "unittest.mock" in shown(replace(MEASURED, needless=["unittest.mock"]))
