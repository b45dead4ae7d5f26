"""An import writes what its plan accepts, in whatever order the network answers."""

import json
from collections.abc import Callable, Iterator
from itertools import permutations
from threading import Event, current_thread, main_thread
from typing import Any, Final

import pytest

from simulation.aws.clients import AlteredClient
from tests.support.audits import audited
from tests.support.builders import create_ticket
from tests.support.ctl_process import items_of
from tests.support.stage import Stage, line
from ticketctl.cli.errors import Status

PATIENCE_SECONDS: Final = 0.1
"""How long a delayed call waits for a write that an import may do only afterwards."""

IMPORTED, SEEDED, LAST = (1, 2), (7, 10), 14
"""Numbers of another system, guard and end of a seed; the worker gave the others."""
KINDS: Final = {
    "without-record": 3,
    "back-by-next-hash": 5,
    "back-by-record": 12,
    "reserved": 10,
    "external": 13,
}
"""A line of each kind, after the damage."""
LOST, UNRECORDED = (5, 6, 7, 10, 11, 12, 13, 14), (3, 5, 13, 14)


def numbers_in(request: dict[str, Any]) -> Iterator[str]:
    """Yield the numbers that a call of DynamoDB names."""
    yield from (
        value["N"]
        for value in request.get("ExpressionAttributeValues", {}).values()
        if "N" in value
    )
    actions = [one for two in request.get("TransactItems", ()) for one in two.values()]
    for action in (request, *actions):
        item = action.get("Item") or action.get("Key") or {}
        if "number" in item:
            yield item["number"]["N"]


class Delaying:
    """DynamoDB, where the calls for one number wait for the write of another."""

    def __init__(self, stage: Stage, first: int, then: int) -> None:
        self.first, self.then, self.is_first_written = first, then, Event()
        names = ("query", "put_item", "transact_write_items")
        calls = {
            name: self.delayed(getattr(stage.dynamodb, name), name) for name in names
        }
        stage.services.dynamodb = AlteredClient(stage.dynamodb, **calls)

    def delayed(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def wait_and_call(**request: Any) -> Any:
            is_line = name != "query" or current_thread() is not main_thread()
            numbers = {*numbers_in(request)} if is_line else set()
            if str(self.then) in numbers:
                self.is_first_written.wait(PATIENCE_SECONDS)
            answer = call(**request)
            if str(self.first) in numbers and name != "query":
                self.is_first_written.set()
            return answer

        return wait_and_call


def send(stage: Stage, *numbers: int) -> None:
    queue = stage.services.queues["source"]
    for number in numbers:
        request = create_ticket(idempotency_key=f"key-{number}", title=f"T {number}")
        queue.send(request.model_dump_json())
        stage.work()


@pytest.fixture
def damaged(stage: Stage) -> Stage:
    """Return a system with a file of its past, and lines of every kind in it."""
    stage.call("import", stage.file(*map(line, IMPORTED)))
    send(stage, *range(3, 7))
    stage.seed(SEEDED[1]).apply()
    send(stage, *range(SEEDED[1] + 1, LAST + 1))
    (stage.folder / "saved.jsonl").write_text(items_of(stage.call("export").out))
    for number in LOST:
        stage.lose("PROJ", number)
    for number in UNRECORDED:
        stage.lose("PROJ", f"key-{number}")
    return stage


class TestOrders:
    """Each line is written, whichever of two kinds is written first."""

    @pytest.mark.parametrize(("first", "then"), [*permutations(KINDS, 2)])
    def test_each_line_is_written_when_one_kind_waits_for_another(
        self, damaged: Stage, first: str, then: str
    ) -> None:
        saved = damaged.folder / "saved.jsonl"
        planned = damaged.call("import", str(saved), "--dry-run")
        Delaying(damaged, KINDS[first], KINDS[then])

        ended = damaged.call("import", str(saved))

        assert planned.status == ended.status == Status.OK, ended.err
        there = damaged.tickets()
        assert {*map(json_number, saved.read_text().splitlines())} <= there.keys()
        assert not audited(damaged).findings
        send(damaged, *range(3, 7), *range(SEEDED[1] + 1, LAST + 1))
        assert max(damaged.tickets()) == LAST


def json_number(text: str) -> int:
    return int(json.loads(text)["number"])
