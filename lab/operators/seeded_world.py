"""Histories in which operators seed, import, void and erase with `ticketctl`'s code."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from operators.seeded_monitor import SeededMonitor
from operators.stack import CALLER, PROJECT, SimulatedStack, imported
from simulation.aws.clients import Client
from simulation.aws.latency import Latency
from simulation.checks.history import OUTSIDE, caller
from simulation.checks.violations import Invariant, broken
from simulation.engine.choices import Choices, one_of
from simulation.engine.tasks import Process
from simulation.scenarios.scenario import Scenario
from simulation.world.execution_environment import SHIPPED, Algorithm
from simulation.world.world import Outcome, World
from ticketctl.aws.retry import RetryPolicy
from ticketctl.aws.tickets import find_ticket
from ticketctl.cli.errors import BusyError, InputError, NotThereError
from ticketctl.importing.judging import ALREADY, Judge
from ticketctl.importing.writing import WRITTEN, Import
from ticketctl.ledger.item import MARKS
from ticketctl.sequences.marking import Marking
from ticketctl.sequences.seeding import Seed

REASON: Final = "a duplicate"

TIMES: Final = (0.0, 0.2, 60.0)
LAST_NUMBERS: Final = (1, 2, 4, 7, 12, 30, 100_000)
LONGEST_PAUSE_SECONDS: Final = 10.0
MARKINGS: Final = 4
MOST_CALLS: Final = 1_000
"""With three of ten requests failing, an import needs some hundred."""

QUICK: Final = Latency(0.0, 0.001)
"""The delay of an operator whose command ends during one call of a worker."""

Command = Callable[[], object]
"""A command that an operator repeats until it is done."""

Wrapper = Callable[[Any], Any]
"""Wraps an operator's client, to change the protocol."""


class SeededWorld(World):
    """A world with operators, who repeat a command that fails or is killed."""

    make_monitor = SeededMonitor
    checks_costs = False  # A seed writes on its own.
    monitor: SeededMonitor

    def __init__(
        self,
        scenario: Scenario,
        choices: Choices,
        algorithm: Algorithm = SHIPPED,
        wrapper: Wrapper = lambda client: client,
    ) -> None:
        super().__init__(scenario, choices, algorithm)
        network = self.services.network
        if choices.chance(0.5):
            network = replace(network, latency=QUICK)
        self.stack = SimulatedStack(
            wrapper(Client("dynamodb", self.services.dynamodb, network))
        )
        self.retry = RetryPolicy(sleep=self.scheduler.sleep, jitter=choices.duration)
        self.outcomes: Counter[str] = Counter()

        self.monitor.batch = self._batch

    def _batch(self) -> set[str]:
        """Return the bodies of the batch of the invocation whose call is served."""
        poller, _, invocation = caller().rpartition(".")
        batches = [
            dict(detail)
            for _, actor, what, detail in self.history.events
            if what == "receives" and actor == poller
        ]
        batch = batches[int(invocation) - 1]
        arrived = self.services.queue.arrived
        return {message.body for message in arrived if message.id in batch}

    def run(self) -> Outcome:
        """Play the history to its end."""
        for name in ("one", "two")[: 1 + self.choices.pick(2)]:
            self.scheduler.spawn(Process(OUTSIDE), name, partial(self._work, name))
        self.scheduler.spawn(Process(OUTSIDE), "marks", self._mark_tickets)
        return super().run()

    def _counts(self) -> Counter[str]:
        """Return the conditions that a history met, with operators and without."""
        counts, monitor = super()._counts(), self.monitor
        jumps = [jump for project in monitor.jumps.values() for jump in project]
        counts += self.outcomes + self.history.refusals() + monitor.marked
        counts["jumps of a sequence"] += len(jumps)
        counts["given between the steps of a seed"] += sum(
            len(jump.given) for jump in jumps
        )
        counts["tickets imported"] += sum(map(len, monitor.imported.values()))
        counts["refusals contradicted"] += len(self.refusals.contradicted)
        return counts

    def _mark_tickets(self) -> None:
        """Void or erase some numbers, whether there are tickets or not."""
        for turn in range(MARKINGS):
            self.scheduler.sleep(self.choices.duration(0.0, LONGEST_PAUSE_SECONDS))
            following = self.monitor.last[PROJECT] + 1
            number = one_of(
                self.choices, [*self.monitor.numbers_of(PROJECT), following]
            )
            status = one_of(self.choices, [*MARKS])
            order = f"{MARKS[status]} {turn} of {number}"
            self._carry_out(order, partial(self._mark, number, status))

    def _work(self, name: str) -> None:
        """Carry out two orders, each at a random time."""
        for turn in range(2):
            at_most = one_of(self.choices, TIMES)
            self.scheduler.sleep(self.choices.duration(0.0, at_most))
            self._carry_out(*self._order(f"{name} {turn}"))

    def _order(self, name: str) -> tuple[str, Command]:
        """Draw a seed, or an import with numbers near those of the workers."""
        last = one_of(self.choices, LAST_NUMBERS)
        named = f"{name} up to {last}"
        if self.choices.chance(0.5):
            return f"seed {named}", partial(self._seed, last)
        top = self.monitor.last[PROJECT]
        near = {top + step for step in (-1, 1, 2, 4) if 0 < top + step < last}
        some = [number for number in sorted(near) if self.choices.chance(0.6)]
        return f"import {named}", partial(self._import, name, (*some, last))

    def _carry_out(self, order: str, command: Command) -> None:
        """Repeat the command until it is done or refused."""
        verb, _, _ = order.partition(" ")
        for call in range(MOST_CALLS):
            process = Process(f"{order}, call {call}")
            run = partial(self._call, process, command)
            self.scheduler.spawn(process, process.name, run)
            self.scheduler.wait(process.ended)
            outcome = process.ended.value
            self.outcomes[f"{verb}: {outcome}"] += 1
            if outcome in {"done", "refused"}:
                return
            self.scheduler.sleep(self.choices.duration(0.0, LONGEST_PAUSE_SECONDS))
        broken(Invariant.OPERATOR_STUCK, f"{order} never got through")

    def _call(self, process: Process, command: Command) -> None:
        """Run the shipped code; the process may be killed in between."""
        try:
            command()
            outcome = "done"
        except (InputError, NotThereError):
            outcome = "refused"
        except BusyError:
            outcome = "busy"
        except (BotoCoreError, ClientError, ResponseParserError):
            outcome = "failed"
        self.scheduler.resolve(process.ended, outcome)

    def _mark(self, number: int, status: str) -> None:
        ticket = find_ticket(self.stack, PROJECT, number)
        Marking(self.stack, status, REASON, CALLER, self.retry).apply(ticket)

    def _seed(self, last: int) -> None:
        target = Seed(self.stack, PROJECT, last, CALLER, retry=self.retry)
        self.monitor.done(target.apply())

    def _import(self, name: str, numbers: tuple[int, ...]) -> None:
        target = Import(self.stack, Judge(CALLER), self.retry)
        for number, fate in imported(target, name, numbers, self.monitor.done):
            self.outcomes[fate] += 1
            there = self.monitor.imported[PROJECT]
            if fate in {WRITTEN, ALREADY} and number not in there:
                broken(
                    Invariant.IMPORT_NOT_THERE, f"{number} was {fate}, and is not there"
                )
