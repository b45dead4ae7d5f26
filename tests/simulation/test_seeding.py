"""The real seed among real workers: no number is given between its ends.

The seed of `ticketctl` runs at any moment of histories in which everything goes wrong.
"""

import operator
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NoReturn

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from simulation.aws.clients import DynamoDBClient
from simulation.aws.items import Address, Item, plain
from simulation.aws.tables import PARTITION_UNITS
from simulation.engine.choices import Choices, RandomChoices
from simulation.engine.scheduler import Process
from simulation.faults import FaultPlan, RandomFaults
from simulation.monitor import KEYS, TICKETS, Monitor, Violation
from simulation.scenario import Scenario, random_scenario
from simulation.world import OUTSIDE, Outcome, World, quiet
from tests.support.builders import create_ticket, create_tickets
from tests.support.fakes import BlockAnswer, FakeTicketStore, FakeTime
from ticket_numbering.allocation import Allocator
from ticket_numbering.ports import Block, Cancelled, Slot
from ticketctl.cli.errors import BusyError, InputError
from ticketctl.sequences.seeding import GUARD_NUMBERS, Seed, Seeded, guard_numbers
from ticketctl.sequences.transactions import Pace

SEEDS: Final = 300
SEEDS_UNTIL_CAUGHT: Final = 300
PROJECT: Final = "P0"  # Every scenario has it.
# Around what a transaction holds, and far beyond.
LAST_NUMBERS: Final = (1, 4, 30, 98, 99, 100, 101, 150, 100_000)
TIMES: Final = (0.0, 0.2, 60.0)
PATIENCE_SECONDS: Final = 10.0
MOST_CALLS: Final = 100
SIDES: Final = {"<": operator.lt, ">": operator.gt, ">=": operator.ge}

Way = Callable[[Any], Any]
"""Wraps the client of who seeds: the real way leaves it as it is."""


@dataclass
class Gap:
    """What a seed leaves between the numbers that it takes and its last one."""

    guarded_to: int
    """No worker may give a number up to this one."""
    open_from: int
    """Whoever saw the guard and not yet the last number gives this one."""
    last: int
    is_sealed: bool = False
    given: list[int] = field(default_factory=list)


@dataclass
class SeededMonitor(Monitor):
    """Knows that a sequence may jump, by a seed, and where to."""

    jumps: int = 0
    gaps: dict[str, list[Gap]] = field(default_factory=lambda: defaultdict(list))

    def decided(self, writes: Mapping[Address, Item | None]) -> None:
        """See a seed, or what else is decided."""
        uses: dict[str, dict[int, str]] = defaultdict(dict)
        for address, item in writes.items():
            if item and "reserved_as" in item:
                number = int(address.key[1])
                uses[str(address.key[0])][number] = plain(item["reserved_as"])
        for project, numbers in uses.items():
            self._see_reserved(project, sorted(numbers), {*numbers.values()})
        given = {a: item for a, item in writes.items() if item and "status" not in item}
        super().decided(given)

    def _see_reserved(self, project: str, numbers: list[int], uses: set[str]) -> None:
        if self.issued[project] & {*numbers}:
            broken(f"{project}: of {numbers} some are given already")
        self.issued[project].update(numbers)
        if uses == {"seal"}:
            gap = self._gap(project, numbers[0])
            gap.is_sealed = True
            return
        *guard, last = numbers
        before, self.last[project] = self.last[project], last
        self.jumps += 1
        top = guard[-1] if guard else before
        if guard != [*range(before + 1, top + 1)]:
            broken(f"{project}: {guard} guards what comes after {before}")
        if top + 1 < last:
            gap = Gap(before + GUARD_NUMBERS, top + 1, last)
            self.gaps[project].append(gap)

    def _gap(self, project: str, number: int) -> Gap:
        """Return the gap that may be written to, at that number."""
        for gap in self.gaps[project]:
            if gap.open_from == number and not gap.is_sealed:
                return gap
        return broken(f"{project}-{number} is not a number to go on with")

    def _check_sequence(self, project: str, new: list[int]) -> None:
        """See that tickets follow the last number, or a guard that is not sealed."""
        if new[0] > self.last[project]:
            super()._check_sequence(project, new)
            return
        gap = self._gap(project, new[0])
        if new[0] <= gap.guarded_to or new != [*range(new[0], new[-1] + 1)]:
            broken(f"{project}: {new} was committed below {gap.last}")
        gap.given += new
        gap.open_from = new[-1] + 1
        if gap.open_from == gap.last:
            gap.is_sealed = True

    def _check_tables(self, items: Mapping[str, list[Item]]) -> None:
        tickets = [each for each in items[TICKETS] if "status" not in each]
        super()._check_tables({TICKETS: tickets, KEYS: items[KEYS]})


def broken(promise: str) -> NoReturn:
    """End the history."""
    raise Violation(promise)


@dataclass(frozen=True)
class RangeQueries:
    """A client that can read a range of numbers, which the model cannot."""

    real: Any

    def __getattr__(self, name: str) -> Any:
        """Pass on the rest."""
        return getattr(self.real, name)

    def query(self, **request: Any) -> Any:
        """Read the partition, and return the part of it."""
        [side] = re.findall(
            "#number (<|>|>=) :number", request["KeyConditionExpression"]
        )
        bound = int(request["ExpressionAttributeValues"][":number"]["N"])
        answer = self.real.query(
            TableName=request["TableName"],
            KeyConditionExpression="project_id = :project",
            ExpressionAttributeValues={
                ":project": request["ExpressionAttributeValues"][":project"]
            },
            ScanIndexForward=request.get("ScanIndexForward", True),
            ConsistentRead=request["ConsistentRead"],
        )
        numbers = [int(plain(item["number"])) for item in answer["Items"]]
        found = [
            item
            for number, item in zip(numbers, answer["Items"], strict=True)
            if SIDES[side](number, bound)
        ]
        return {"Items": found[: request["Limit"]]}


@dataclass(frozen=True)
class SimulatedStack:
    """What the seed needs of a stack."""

    dynamodb: Any
    outputs: Mapping[str, str] = field(
        default_factory=lambda: {"TicketsTableName": TICKETS}
    )

    def client(self, service_name: str) -> Any:
        """Return the client, which is DynamoDB's."""
        assert service_name == "dynamodb"
        return self.dynamodb


class SeededWorld(World):
    """A world in which somebody seeds, and calls again when it fails."""

    def __init__(
        self, scenario: Scenario, choices: Choices, faults: FaultPlan, way: Way
    ) -> None:
        """Let the other monitor look on."""
        super().__init__(scenario, choices, faults)
        self.seeded = SeededMonitor(self.topic, self.queue, self.dead_letters)
        self.monitor = self.tables.observer = self.seeded
        self.queue.on_delete = self.seeded.deleted
        self.stack = SimulatedStack(
            RangeQueries(way(DynamoDBClient(self.dynamodb, self.network)))
        )
        self.outcomes: Counter[str] = Counter()

    def run(self) -> Outcome:
        """Play the history to its end."""
        self.scheduler.spawn(Process(OUTSIDE), "person", self._seed_twice)
        return super().run()

    def _check_attempts(self) -> None:
        """Leave that to the histories without a seed: who seeds tries more often."""

    def _seed_twice(self) -> None:
        for _ in range(2):
            at_most = TIMES[self.choices.pick(len(TIMES))]
            self.scheduler.sleep(self.choices.duration(0.0, at_most))
            self._seed(LAST_NUMBERS[self.choices.pick(len(LAST_NUMBERS))])

    def _seed(self, last: int) -> None:
        """Call until it says that it is done, or that it makes no sense."""
        for call in range(MOST_CALLS):
            process = Process(f"seeding {last}, call {call} at {self.scheduler.now}")
            call_it = partial(self._call, process, last)
            self.scheduler.spawn(process, process.name, call_it)
            self.scheduler.wait(process.ended)
            self.outcomes[str(process.ended.value)] += 1
            if process.ended.value in {"done", "refused"}:
                return
            self.scheduler.sleep(self.choices.duration(0.0, PATIENCE_SECONDS))
        message = f"the seed up to {last} never got through"
        raise Violation(message)

    def _call(self, process: Process, last: int) -> None:
        """Run the real code once; the process may be killed in between."""
        pace = Pace(sleep=self.scheduler.sleep, jitter=self.choices.duration)
        try:
            seeded = Seed(self.stack, PROJECT, last, pace=pace).plant()
            self._check(seeded)
            outcome = "done"
        except InputError:
            outcome = "refused"
        except BusyError:
            outcome = "busy"
        except (BotoCoreError, ClientError, ResponseParserError):
            outcome = "failed"
        self.scheduler.keep(process.ended, outcome)

    def _check(self, seeded: Seeded) -> None:
        """See that from now on nothing is given between, and what was is told."""
        if seeded.was_already:
            return
        gaps = [each for each in self.seeded.gaps[PROJECT] if each.last == seeded.last]
        if not all(gap.is_sealed for gap in gaps):
            broken(f"the seed up to {seeded.last} left its gap open")
        given = [number for gap in gaps for number in gap.given]
        if given != [*seeded.given_within]:
            broken(f"{given} was given, but {seeded.given_within} told")


@dataclass(frozen=True)
class ShortGuard:
    """A client through which a seed takes the last number and a few before, or none."""

    real: Any
    guard: int

    def __getattr__(self, name: str) -> Any:
        """Pass on what is not a transaction."""
        return getattr(self.real, name)

    def transact_write_items(self, **request: Any) -> Any:
        """Leave out the rest of the guard."""
        *kept, last = request["TransactItems"]
        if last["Put"]["Item"]["reserved_as"]["S"] == "last":
            kept = kept[: self.guard]
        kept.append(last)
        return self.real.transact_write_items(TransactItems=kept)


@dataclass(frozen=True)
class WithoutSeal(ShortGuard):
    """A client through which a seed leaves open what follows its guard."""

    def transact_write_items(self, **request: Any) -> Any:
        """Say that the seal is done."""
        *_, last = request["TransactItems"]
        if last["Put"]["Item"]["reserved_as"]["S"] == "seal":
            return {}
        return self.real.transact_write_items(**request)


@dataclass(frozen=True)
class Played:
    """What the histories came to."""

    violations: list[str]
    outcomes: Counter[str]
    refusals: Counter[str]
    jumps: int
    given: list[int]
    """Numbers given between, by those who saw a guard before its last number."""


def play(seeds: range, way: Way = lambda client: client) -> Played:
    """Play histories until one breaks a promise."""
    outcomes: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    jumps = 0
    given: list[int] = []
    with quiet():
        for number in seeds:
            choices = RandomChoices(number)
            # With a partition's real throughput, and no outage that outlasts whoever
            # seeds; others would never let a seed pass.
            scenario = replace(
                random_scenario(choices), partition_units=PARTITION_UNITS, outages=()
            )
            faults = RandomFaults(choices, scenario.fault_rate)
            world = SeededWorld(scenario, choices, faults, way)
            outcome = world.run()
            outcomes += world.outcomes
            refusals += outcome.refusals
            jumps += world.seeded.jumps
            given += [n for gap in world.seeded.gaps[PROJECT] for n in gap.given]
            if outcome.violation:
                violation = f"seed {number}: {outcome.violation}"
                return Played([violation], outcomes, refusals, jumps, given)
    return Played([], outcomes, refusals, jumps, given)


@pytest.fixture(scope="module")
def played() -> Played:
    """Play the histories of the first seeds."""
    return play(range(1, SEEDS + 1))


class TestSeedAmongWorkers:
    """Contiguous up to where it began, and from where it ends; nothing within."""

    def test_no_number_is_given_between_when_seeded_at_any_moment(
        self, played: Played
    ) -> None:
        """And every other promise holds as well."""
        assert played.violations == []
        assert played.jumps > SEEDS

    def test_seed_meets_workers_in_the_middle(self, played: Played) -> None:
        """A test in which nobody was in the way would prove nothing."""
        assert played.refusals["ConditionalCheckFailed"] > SEEDS / 2
        assert played.refusals["TransactionConflict"] > SEEDS / 10
        assert played.outcomes["refused"] > SEEDS / 20
        assert played.outcomes["None"] > SEEDS / 20  # Killed.

    def test_numbers_given_within_are_told_when_a_worker_saw_half_a_seed(
        self, played: Played
    ) -> None:
        """The guard, and not yet the last number; so it happens, and only so."""
        assert played.given
        assert len(played.given) < played.jumps / 10

    @pytest.mark.parametrize("guard", [0, 1, 2])
    def test_seed_is_caught_when_its_guard_is_too_short(self, guard: int) -> None:
        """A worker that read before it goes on with the old number, or past it."""
        caught = play(
            range(1, SEEDS_UNTIL_CAUGHT + 1), lambda real: ShortGuard(real, guard)
        )

        assert caught.violations

    def test_seed_is_caught_when_it_is_not_sealed(self) -> None:
        """Nobody could say when the last number is given within."""
        caught = play(
            range(1, SEEDS_UNTIL_CAUGHT + 1), lambda real: WithoutSeal(real, 0)
        )

        assert caught.violations


class SpitefulStore(FakeTicketStore):
    """Lets a worker get as far as it can without a read: hides the last collision."""

    def last_number(self, project_id: str) -> int:
        """Return what was the last number before the seed, and later what is."""
        is_first = not self.calls
        last = super().last_number(project_id)
        return 0 if is_first else last

    def put(self, block: Block) -> BlockAnswer:
        """Report every taken number but the last, if there are several."""
        answer = super().put(block)
        if not isinstance(answer, Cancelled):
            return answer
        taken = [place for place, slot in enumerate(answer.slots) if slot.is_taken]
        hidden = taken[-1] if len(taken) > 1 else None
        return Cancelled(
            [
                Slot() if place == hidden else slot
                for place, slot in enumerate(answer.slots)
            ]
        )


class TestGuard:
    """One transaction holds the last number and all of the guard."""

    @pytest.mark.parametrize("requests", [1, 2, 3, 10, 33, 49, 50, 120])
    def test_no_worker_gets_past_it_when_reasons_are_kept_back(
        self, requests: int
    ) -> None:
        """Whatever DynamoDB leaves out of the reasons, for requests that are new."""
        last = 1_000
        time, store = FakeTime(), SpitefulStore()
        for number in (*guard_numbers(0, last), last):
            store.tickets["PROJ"][number] = create_ticket()
        allocator = Allocator(store, 25, 1.0, sleep=time.sleep)

        run = allocator.start("PROJ", create_tickets(requests), time.time_left)
        run.work()

        given = sorted(assignment.number for assignment in store.keys.values())
        assert given == [*range(last + 1, last + 1 + requests)]

    @pytest.mark.parametrize(
        ("before", "last", "expected"),
        [
            (0, 1, []),
            (4, 6, [5]),
            (0, 99, [*range(1, 99)]),
            (0, 100, [*range(1, 100)]),
            (0, 101, [*range(1, 100)]),
            (7, 10**15, [*range(8, 107)]),
        ],
    )
    def test_guard_is_as_long_as_one_transaction_holds(
        self, before: int, last: int, expected: list[int]
    ) -> None:
        """With the last number, 100 at most."""
        assert [*guard_numbers(before, last)] == expected
        assert len(expected) <= GUARD_NUMBERS
