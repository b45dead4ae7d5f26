"""What tickets cost: the arithmetic, the template's own counts, and what is printed."""

import json
from dataclasses import replace
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer import Typer
from typer.testing import CliRunner

from benchmarks import cost_cases, cost_prices
from benchmarks.cost_cases import ours, textbook, with_powertools
from benchmarks.cost_dollars import (
    SERVICES,
    cost_rows,
    dollars,
    stored_dollars_a_month,
    workers,
)
from benchmarks.cost_idle import (
    COLD_START_METRICS,
    EVENT_COUNT_METRICS,
    TEMPLATE,
    monthly_costs,
)
from benchmarks.cost_prices import MILLION, SQS_FIFO, Price
from benchmarks.cost_report import as_markdown, grids, show
from benchmarks.cost_work import MEMORY_MB, Work
from benchmarks.costs import main
from tests.support.template_loader import ids_of, the_only
from ticket_numbering.batch_api import MAX_BATCH_ENTRIES
from ticket_numbering.observability import Metric
from ticket_numbering.ports import MAX_BLOCK_REQUESTS
from ticket_numbering.worker import MAX_PROJECTS_SIDE_BY_SIDE

SCALING = Path(__file__).parents[3] / "docs" / "scaling.md"

PLAIN = Work("plain", 10, {"PutItem": 1.0, "Publish": 1.0}, 1.0, 1.0, 100.0)


def test_dollars_are_units_times_prices_when_a_ticket_takes_one_of_each() -> None:
    """Add up what AWS bills, service by service."""
    assert dollars(PLAIN) == pytest.approx(
        {
            "DynamoDB": 0.625 + 0.125,
            "SQS": 1.2 * (0.40 + 0.10),
            "SNS": 0.50,
            "Lambda": 0.1 * 0.20 + 0.5 * 0.010 * 13.333_4,
            "Logs": 0.50 * (660 + 108) / 1000,
        }
    )


def test_dollars_double_when_the_tickets_do() -> None:
    """Scale with the tickets: there are no tiers."""
    twice = dollars(PLAIN, 2 * MILLION)
    assert twice == pytest.approx({name: 2 * d for name, d in dollars(PLAIN).items()})


def test_queue_costs_the_fifo_price_when_the_queue_is_fifo() -> None:
    """Leave the fair queue out where there is none."""
    assert dollars(PLAIN, queue=[SQS_FIFO])["SQS"] == pytest.approx(1.2 * 0.50)


def test_lambda_costs_its_memory_when_the_memory_is_another() -> None:
    """Bill time by the memory."""
    requests = 0.1 * 0.20
    small, large = (dollars(PLAIN, memory_mb=each)["Lambda"] for each in (512, 1024))
    assert large - requests == pytest.approx(2 * (small - requests))


@pytest.mark.parametrize(("batch_size", "requests"), [(1, 3.0), (10, 1.2), (100, 1.2)])
def test_queue_requests_are_shared_by_ten_when_the_batch_is_large(
    batch_size: int, requests: float
) -> None:
    """Receive and delete ten messages at once, at most."""
    assert replace(PLAIN, batch_size=batch_size).queue_requests == requests


def test_workers_are_busy_batches_when_tickets_come_at_a_rate() -> None:
    """Multiply the rate by the time, as Little does."""
    assert workers(PLAIN, 1000.0) == pytest.approx(10.0)


def test_stored_tickets_cost_storage_and_recovery_when_a_gigabyte_is_kept() -> None:
    """Bill what is kept twice: as data, and as what brings it back."""
    kept = replace(PLAIN, stored_bytes=1000)
    assert stored_dollars_a_month(kept) == pytest.approx(0.25 + 0.20)


class TestOurs:
    """What the worker takes."""

    def test_ten_of_a_project_share_three_requests_when_nobody_contends(self) -> None:
        """Make the three requests that the README promises."""
        work = ours(10)
        expected = {"Query": 0.1, "TransactWriteItems": 0.1, "PublishBatch": 0.1}
        assert work.calls == pytest.approx(expected)
        assert (work.write_units, work.read_units) == pytest.approx((4.0, 0.1))
        assert work.publishes == pytest.approx(0.1)

    def test_each_project_has_its_query_and_block_when_no_two_are_the_same(
        self,
    ) -> None:
        """Share nothing but the announcement."""
        work = ours(10, projects=10)
        expected = {"Query": 1.0, "TransactWriteItems": 1.0, "PublishBatch": 0.1}
        assert work.calls == pytest.approx(expected)
        assert work.write_units == pytest.approx(4.0)

    def test_batch_waits_for_three_requests_when_it_has_one_project(self) -> None:
        """Wait, and then compute on a part of a processor."""
        calm = 5 + 15 + 5
        processor = (3 * 0.55 + 10 * 0.4) * 1769 / 512
        assert ours(10).milliseconds == pytest.approx(calm + processor)

    def test_projects_wait_together_when_ten_of_them_share_a_batch(self) -> None:
        """Wait once for ten projects, and compute for each."""
        calm = 5 + 15 + 5
        processor = (21 * 0.55 + 10 * 0.4) * 1769 / 512
        assert ours(10, projects=10).milliseconds == pytest.approx(calm + processor)

    def test_batch_takes_two_blocks_when_it_has_more_than_one_holds(self) -> None:
        """Keep to the transaction of 100 actions."""
        assert ours(100).calls["TransactWriteItems"] == pytest.approx(0.02)

    def test_every_try_costs_its_units_when_workers_contend(self) -> None:
        """Bill cancelled writes too."""
        assert ours(10, attempts=1.5).write_units == pytest.approx(6.0)

    def test_processor_gets_no_faster_when_memory_exceeds_one_processor(self) -> None:
        """Use one processor: Python does no more."""
        one, two = (ours(10, memory_mb=each) for each in (1769, 4000))
        assert one.milliseconds == two.milliseconds


class TestOtherWays:
    """What the textbook takes, alone and in Powertools' idempotency."""

    def test_textbook_takes_a_quarter_of_our_units_when_nobody_contends(self) -> None:
        """Say openly that the textbook is cheaper."""
        assert textbook(10).write_units * 4 == ours(10).write_units

    def test_textbook_takes_more_units_than_ours_when_ten_workers_contend(
        self,
    ) -> None:
        """Say that it is not where workers collide."""
        crowd = cost_cases.CASES["10 workers on one project"]
        units = {(work.way, work.batch_size): work.write_units for work in crowd}
        assert units["textbook", 10] > units["ours", 10]

    def test_powertools_takes_two_units_more_when_it_keeps_a_record(self) -> None:
        """Put the record, and update it."""
        assert with_powertools(1).write_units == textbook(1).write_units + 2

    @pytest.mark.parametrize("way", [textbook, with_powertools])
    def test_batch_takes_ten_times_as_long_when_it_has_ten_messages(
        self, way: Any
    ) -> None:
        """Take one message after the other."""
        assert way(10).milliseconds == pytest.approx(10 * way(1).milliseconds)


class TestMonthlyCosts:
    """What the template's resources cost."""

    def test_alarms_are_the_template_s_when_counted(self) -> None:
        """Count what CloudFormation will make."""
        [alarms] = [each for each in monthly_costs() if each.what == "alarms"]
        assert alarms.count == len(ids_of("AWS::CloudWatch::Alarm"))
        assert alarms.dollars == pytest.approx(0.10 * alarms.count)

    def test_alarm_costs_more_when_the_template_has_one_more(
        self, tmp_path: Path
    ) -> None:
        """Read the template, and not a number of our own."""
        lines = TEMPLATE.read_text(encoding="utf-8").splitlines()
        place = lines.index("Resources:") + 1
        added = ["  OneMore:", "    Type: AWS::CloudWatch::Alarm"]
        changed = tmp_path / "template.yaml"
        text = "\n".join([*lines[:place], *added, *lines[place:]])
        changed.write_text(text, encoding="utf-8")
        before, after = monthly_costs()[1], monthly_costs(changed)[1]
        assert after.count == before.count + 1

    def test_queue_is_polled_fifteen_times_a_minute_when_idle(self) -> None:
        """Poll as Lambda does, which costs nothing in the free million."""
        polls = monthly_costs()[0]
        assert polls.count == 15 * 60 * 730
        assert polls.dollars_beyond_free == 0

    def test_idle_stack_costs_nothing_when_the_account_has_nothing_else(self) -> None:
        """Confirm what the README says of an idle stack."""
        idle = [each for each in monthly_costs() if each.is_idle]
        assert sum(each.dollars_beyond_free for each in idle) == 0
        assert sum(each.dollars for each in idle) == pytest.approx(3.86, abs=0.01)

    def test_metrics_are_the_worker_s_when_counted_in_the_dashboard(self) -> None:
        """Find every metric that the worker has."""
        [metrics] = [each for each in monthly_costs() if each.what == "metrics"]
        others = COLD_START_METRICS + EVENT_COUNT_METRICS
        assert metrics.count - others == len(Metric)
        assert not metrics.is_idle


class TestAssumptions:
    """What the costs take from elsewhere is still so there."""

    def test_memory_is_the_template_s_when_compared(self) -> None:
        """Use the memory that the function gets."""
        assert the_only("AWS::Lambda::Function")["MemorySize"] == MEMORY_MB

    def test_limits_are_the_worker_s_when_compared(self) -> None:
        """Use the limits that the worker has."""
        assert cost_cases.BLOCK == MAX_BLOCK_REQUESTS
        assert cost_cases.ANNOUNCED_TOGETHER == MAX_BATCH_ENTRIES
        assert cost_cases.SIDE_BY_SIDE == MAX_PROJECTS_SIDE_BY_SIDE

    def test_every_price_names_its_page_and_month_when_listed(self) -> None:
        """Let nobody take a price for eternal."""
        prices = [each for each in vars(cost_prices).values() if type(each) is Price]
        assert len(prices) > 10
        for price in prices:
            assert "pricing" in price.page
            assert price.unit
            assert "2025-01" <= price.seen <= "2026-11"


class TestReport:
    """What is printed."""

    def test_rows_have_every_service_when_listed(self) -> None:
        """Leave no service out."""
        for row, service in product(cost_rows(), SERVICES):
            assert row.dollars[service] > 0
            assert row.total > row.dollars[service]

    def test_terminal_shows_all_tables_when_asked_for_neither_format(self) -> None:
        """Show everything to people."""
        out = StringIO()
        show(cost_rows(), monthly_costs(), Console(file=out, width=80))
        assert "Powertools" in out.getvalue()
        assert "empty receives" in out.getvalue()

    def test_docs_have_today_s_tables_when_compared(self) -> None:
        """Keep the page and the code together."""
        page = SCALING.read_text(encoding="utf-8")
        for grid in grids(cost_rows(), monthly_costs()):
            assert grid.markdown() in page, "put in what `costs --markdown` prints"

    def test_json_has_rows_and_months_when_asked_for(self) -> None:
        """Print what a script can read."""
        found = json.loads(_printed("--json"))
        assert found["region"] == "us-east-1"
        assert len(found["per_million"]) == len(cost_rows())
        assert {each["what"] for each in found["monthly"]} >= {"alarms", "metrics"}

    def test_markdown_has_all_tables_when_asked_for(self) -> None:
        """Print what a page can take."""
        assert _printed("--markdown") == as_markdown(cost_rows(), monthly_costs())

    def test_terminal_gets_tables_when_asked_for_nothing(self) -> None:
        """Be readable by default."""
        assert "dollars a month" in _printed()


def _printed(*arguments: str) -> str:
    app = Typer()
    app.command()(main)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.output
