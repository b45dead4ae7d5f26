"""One history: producers, a queue, workers, an operator, and faults."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from simulation.aws.fault_plans import RandomFaults
from simulation.aws.faults import Fault
from simulation.aws.items import Address, Item, plain
from simulation.aws.lambda_service import HandlerError
from simulation.aws.messages import reason_of
from simulation.aws.tables import LINES, SCHEMA, TICKETS
from simulation.checks.chains import Chains
from simulation.checks.coverage import Condition, conditions_of
from simulation.checks.fates import Fates
from simulation.checks.history import OUTSIDE, History
from simulation.checks.monitor import Monitor
from simulation.checks.promises import Caps, Neighbours, check_costs, check_waits
from simulation.checks.refusals import Refusals, check_order, check_poison_last
from simulation.checks.violations import Invariant, Violation
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from simulation.engine.tasks import Process
from simulation.scenarios.scenario import Scenario
from simulation.world.execution_environment import SHIPPED, Algorithm, quiet
from simulation.world.pollers import build_pollers
from simulation.world.services import Services


@dataclass
class Outcome:
    """The result of one history."""

    violation: Violation | None
    history: History
    tickets: int
    calls: int
    write_units: float
    counts: Counter[str]
    """Events by kind."""
    conditions: Sequence[Condition]


class World:
    """The services, workers and outside parties of one history."""

    make_monitor: ClassVar[type[Monitor]] = Monitor
    checks_costs: ClassVar[bool] = True

    def __init__(
        self, scenario: Scenario, choices: Choices, algorithm: Algorithm = SHIPPED
    ) -> None:
        self.scenario, self.choices, self.algorithm = scenario, choices, algorithm
        self.scheduler = Scheduler(choices)
        self.faults = RandomFaults(
            choices, self.scheduler, scenario.fault_rate, scenario.outages
        )
        self.history = History(self.scheduler)
        self.services = Services(
            scenario, choices, self.scheduler, self.faults, self.history
        )
        self.monitor: Monitor = self.make_monitor(
            self.services.topic,
            self.services.queue,
            self.services.dead_letters,
            has_key_records=algorithm.has_key_records,
            forbids_deletion=not algorithm.deletes_tickets,
        )
        self.fates = Fates(self.monitor)
        self.neighbours = Neighbours(
            self.monitor, scenario.refusals_fail, scenario.fifo
        )
        self.refusals = Refusals(self.monitor)
        self.caps = Caps(self.monitor)
        clocks_differ = timedelta(seconds=2 * scenario.clock_error)
        self.chains = Chains(self.monitor, clocks_differ)
        self.pollers = build_pollers(self.services, algorithm)
        self._watch()

    def _watch(self) -> None:
        """Connect the checks to the services."""
        self.services.topic.on_publish = self._announced
        self.services.queue.on_delete = self.fates.deleted
        self.services.dead_letters.on_arrival = self.refusals.dead_lettered
        self.services.tables.on_decision = self._decided
        self.history.on_note = self._noted
        self.services.tables.on_failed_action = self.neighbours.cancelled
        if self.scenario.is_fair:
            for poller in self.pollers:
                poller.on_return = self.neighbours.delivered

    def run(self) -> Outcome:
        """Play the history to its end, without log lines and metrics."""
        outside = Process(OUTSIDE)
        self.scheduler.spawn(outside, "producer", self._produce, is_local=True)
        self.scheduler.spawn(outside, "operator", self._operate, is_local=True)
        for poller in self.pollers:
            self.scheduler.spawn(outside, poller.name, poller.run)
        with quiet():
            violation = self._run()
        effects = self.services.tables.effects
        return Outcome(
            violation,
            self.history,
            tickets=len(self.monitor.numbered),
            calls=self.services.network.calls.total(),
            write_units=self.services.tables.units_written,
            counts=self._counts(),
            conditions=[
                *conditions_of(
                    self.scenario,
                    self.history,
                    self.neighbours,
                    self.faults.injected,
                    effects,
                )
            ],
        )

    def _run(self) -> Violation | None:
        """Run every task to its end; return the first violation."""
        tables = self.services.tables
        try:
            self.scheduler.run()
            self.fates.finish()
            self.monitor.finish({name: tables.items(name) for name in SCHEMA})
            self.refusals.finish()
            if self.checks_costs and self.algorithm.has_key_records:
                bound, units = self.scenario.max_attempts, tables.units_written
                check_costs(self.history, bound, units)
                check_poison_last(self.history)
                if self.scenario.is_fair:
                    check_waits(self.history)
            dead_letters = self.services.dead_letters.arrived
            # A message that was received too often lets others pass it.
            if self.scenario.fifo and all(map(reason_of, dead_letters)):
                refused = [request for request, _ in self.refusals.at_caps]
                check_order(self.monitor, refused)
        except Violation as error:
            return error
        except HandlerError as error:
            return Violation(Invariant.HANDLER_RAISED, str(error))
        finally:
            self.scheduler.end()
        return None

    def _counts(self) -> Counter[str]:
        return Counter(
            {
                "histories": 1,
                "messages delivered to the queue": len(self.services.queue.arrived),
                "tickets": len(self.monitor.numbered),
                "tickets chained to the one before": self.chains.links,
                "segments of the chain": self.chains.segments,
                "dates that ran back over a day": self.chains.dates_back,
                "calls to AWS": self.services.network.calls.total(),
                "scheduling points": self.scheduler.steps,
                "faults": self.faults.injected.total(),
                **self.services.tables.effects,
            }
        )

    def _noted(self, what: str, detail: Any) -> None:
        self.chains.noted(what, detail)
        self.refusals.noted(what, detail)

    def _decided(self, writes: Mapping[Address, Item | None]) -> None:
        """Log and check a commit; an item of a line is none."""
        writes = {at: item for at, item in writes.items() if at.table != LINES}
        tickets = {
            "-".join(map(str, address.key)): (
                str(address.key[0]),
                plain(item["idempotency_key"]),
            )
            for address, item in writes.items()
            if address.table == TICKETS and item and "idempotency_key" in item
        }
        if tickets:
            self.history.note("commits", tickets)
        self.monitor.decided(writes)
        self.caps.decided(writes)
        self.chains.decided(writes)

    def _announced(self, event: Any) -> None:
        """Log and check an announcement."""
        self.history.note("announces", event["id"])
        if "number" in event["data"]:
            self.monitor.announced(event)
            self.chains.announced(event)
        else:
            self.refusals.announced(event)

    def _produce(self) -> None:
        """Send every message; send some of them twice."""
        queue = self.services.queue
        for sending in sorted(self.scenario.sendings, key=lambda sending: sending.at):
            if delay := sending.at - self.scheduler.now:
                self.scheduler.sleep(delay)
            request = self.monitor.requested(sending.body)
            self.history.note("sends", sending.body[:80])
            project = request.id[0] if request else "-"
            group = project if self.scenario.fifo else None
            if self.faults.next("send_message") is Fault.SENT_TWICE:
                self.history.note("sends again", sending.body[:80])
                queue.send(sending.body, sending.attributes, group)
            queue.send(sending.body, sending.attributes, group)

    def _operate(self) -> None:
        """Redrive all dead letters."""
        dead_letters = self.services.dead_letters
        for time in self.scenario.redrives:
            self.scheduler.sleep(time - self.scheduler.now)
            self.history.note("redrives", len(dead_letters.messages))
            dead_letters.move_to(self.services.queue)
