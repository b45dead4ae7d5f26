"""The model's tables, latencies and transactions."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest

from simulation.aws import actions, dynamodb, items
from simulation.aws.errors import ServiceError
from simulation.aws.faults import CALLS_OF_OTHERS, SERVICES, Effect, Fault, possible
from simulation.aws.items import Address, Item
from simulation.aws.latency import Latency, Steps
from simulation.aws.tables import Tables
from simulation.aws.transactions import Transactions
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from simulation.engine.tasks import Process
from ticket_numbering.allocation import block, store

CHOICES = Choices(1)
AT_ONCE = Latency(0.0, 0.0)


def ticket(number: int, project: str = "P", **attributes: Any) -> Item:
    """Return a ticket's item."""
    return {"project_id": {"S": project}, "number": {"N": str(number)}, **attributes}


def address(number: int, project: str = "P") -> Address:
    """Return where a ticket lies."""
    return Address("tickets", (project, Decimal(number)))


class Stage:
    """Empty tables, their decisions, and a scheduler."""

    def __init__(self, latency: Latency = AT_ONCE) -> None:
        self.scheduler = Scheduler(CHOICES)
        self.decisions: list[Mapping[Address, Item | None]] = []
        self.tables = Tables(
            self.scheduler, CHOICES, latency, on_decision=self.decisions.append
        )

    def run(self, action: Callable[[], object], at: float = 0.0) -> None:
        """Plan an action of a task of its own."""
        self.scheduler.spawn(Process(f"at {at}"), f"at {at}", action, at)

    def write(self, *numbers: int, project: str = "P") -> None:
        """Write tickets, one after the other."""
        for number in numbers:
            self.tables.write(address(number, project), ticket(number, project))

    def numbers(self, ago: float = 0.0, project: str = "P") -> list[int]:
        """Return the numbers of a project as the table has them."""
        keys = self.tables.partition("tickets", project, ago)
        return [int(number) for _, number in keys]

    def state(self) -> tuple[set[Address], int, list[int]]:
        """Return the locked items, the number of decisions, and project P's numbers."""
        return {*self.tables.locked}, len(self.decisions), [*self.numbers()]


class TestFaults:
    """A fault does something to the call that has it."""

    def test_fault_has_an_effect_when_a_worker_calls(self) -> None:
        """Of the other callers, the code of their calls has it."""
        idle = {fault for fault in Fault if fault.value.effect is Effect.NONE}

        for call in {call for calls in SERVICES.values() for call in calls}:
            assert call in CALLS_OF_OTHERS or not idle & {*possible(call)}


class TestPartition:
    """A partition's keys are sorted and its own, now and in the past."""

    def test_stale_read_sees_the_past_when_items_were_deleted(self) -> None:
        stage = Stage()
        stage.write(3, 1, 1)
        stage.write(5, project="Q")
        stage.scheduler.now = 10.0
        stage.tables.write(address(1), None)
        stage.tables.write(address(5, "Q"), None)
        stage.write(2)
        stage.scheduler.now = 11.0

        assert stage.numbers() == [2, 3]
        assert stage.numbers(ago=0.5) == [2, 3]
        assert stage.numbers(ago=5.0) == [1, 3]
        assert stage.numbers(ago=11.5) == []


class TestLatency:
    """How long the items of a transaction take."""

    def test_item_takes_its_own_time_whatever_the_number_of_items(self) -> None:
        latency = Latency(1.0, 1.0, steps_a_call=20)
        for size in (1, 100):
            assert latency.steps(CHOICES, size).item() == pytest.approx(0.05)


class Deciding(Latency):
    """Transactions take a second to decide, and nothing else."""

    def steps(self, choices: Choices, items: int) -> Steps:
        """Return the times of a transaction."""
        del choices, items
        return Steps(lambda: 0.0, decision=1.0)


class TestDecision:
    """A transaction can be prepared for a while before it is decided."""

    def test_items_are_locked_and_undecided_when_a_transaction_waits(self) -> None:
        stage = Stage(Deciding())
        transactions = Transactions(stage.tables)
        seen: list[tuple[set[Address], int, list[int]]] = []

        stage.run(lambda: transactions.run(_puts(1, 2)))
        stage.run(lambda: seen.append(stage.state()), at=0.5)
        stage.scheduler.run()

        assert seen == [({address(1), address(2)}, 0, [])]
        assert stage.state() == (set(), 1, [1, 2])

    def test_items_are_free_before_the_answer_when_a_transaction_is_cancelled(
        self,
    ) -> None:
        stage = Stage(Deciding())
        stage.write(2)
        seen: list[tuple[set[Address], int, list[int]]] = []
        stage.run(lambda: Transactions(stage.tables).run(_puts(1, 2)))
        stage.run(lambda: seen.append(stage.state()), at=0.5)

        with pytest.raises(ServiceError, match="TransactionCanceledException"):
            stage.scheduler.run()

        assert seen == [(set(), 0, [2])]
        assert stage.scheduler.now == 1.0


def _puts(*numbers: int) -> Mapping[str, Any]:
    free = "attribute_not_exists(project_id)"
    put = {"TableName": "tickets", "ConditionExpression": free}
    return {"TransactItems": [{"Put": {**put, "Item": ticket(n)}} for n in numbers]}


def test_worker_keeps_to_the_limits_of_the_model() -> None:
    puts = 2 * block.MAX_BLOCK_REQUESTS

    assert puts == actions.MAX_ACTIONS
    assert block.MAX_BLOCK_BYTES == actions.MAX_TRANSACTION_BYTES
    assert block.MAX_ITEM_BYTES == items.MAX_ITEM_BYTES
    assert store.MAX_KEYS_PER_READ == dynamodb.MAX_KEYS
