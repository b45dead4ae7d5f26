"""What no emulator shows: batch calls that answer 200 and fail in part.

These cases run on the model alone.
"""

from collections import Counter

import pytest

from simulation.engine.choices import RandomChoices
from simulation.faults import Fault
from tests.integration.test_conformance_batches import entries, send
from tests.integration.test_conformance_reads import add_key, batch_get
from tests.support.builders import create_tickets, plenty, queue_record
from tests.support.conformance import Simulation, backend_of
from ticket_numbering.errors import InvalidMessageError
from ticket_numbering.messages import TicketNumberAssigned
from ticket_numbering.ports import Announcement, DeadLetter
from ticket_numbering.sns_publisher import SNSPublisher
from ticket_numbering.sqs_dead_letters import SQSDeadLetters

SEEDS = pytest.mark.parametrize("seed", range(8))


class Always:
    """Something goes wrong with every call."""

    def __init__(self, fault: Fault) -> None:
        """Take what goes wrong."""
        self.injected: Counter[Fault] = Counter()
        self._fault = fault

    def next(self, _: str) -> Fault:
        """Return what goes wrong."""
        return self._fault


def half_broken(seed: int) -> Simulation:
    """Return a model whose batch calls do only a part."""
    return Simulation(RandomChoices(seed), Always(Fault.PARTIAL))


class TestPartialFailures:
    """Batch calls answer 200 and name what they did not do."""

    @SEEDS
    @pytest.mark.parametrize("service", ["sns", "sqs"])
    def test_batch_call_names_each_entry_once_when_some_fail(
        self, seed: int, service: str
    ) -> None:
        """Either as successful, or as failed with a code and whose fault it is."""
        answer = send(backend_of(half_broken(seed)), service, entries(10))

        taken = [each["Id"] for each in answer["Successful"]]
        failed = [each["Id"] for each in answer["Failed"]]
        assert sorted(taken + failed) == sorted(f"id-{each}" for each in range(10))
        assert failed
        for each in answer["Failed"]:
            assert each.keys() >= {"Id", "Code", "SenderFault"}

    @SEEDS
    def test_batch_get_item_names_the_keys_that_it_has_not_processed(
        self, seed: int
    ) -> None:
        """In the form of a request, so that they can be asked for as they are."""
        backend = backend_of(half_broken(seed))
        names = [f"key-{each}" for each in range(10)]
        for name in names:
            add_key(backend, name)

        answer = batch_get(backend, *names)

        found = answer["Responses"]["keys"]
        left = answer["UnprocessedKeys"]["keys"]
        assert left["ConsistentRead"]
        assert sorted(each["id"]["S"] for each in [*found, *left["Keys"]]) == names
        assert left["Keys"]

    @SEEDS
    def test_announcer_names_the_events_that_failed(self, seed: int) -> None:
        """What it does not name was published; what it names may have been."""
        model = half_broken(seed)
        announcements = [
            Announcement(TicketNumberAssigned.of(each, number, "then"), replayed=False)
            for number, each in enumerate(create_tickets(20), 1)
        ]

        failures = SNSPublisher(model.sns, "topic").publish(announcements, plenty)

        ids = {each.event.id for each in announcements}
        assert failures
        assert failures.keys() | model.topic.published.keys() == ids

    @SEEDS
    def test_dead_letters_name_the_messages_that_failed(self, seed: int) -> None:
        """What they do not name is parked; what they name may be."""
        model = half_broken(seed)
        error = InvalidMessageError("not JSON")
        letters = [DeadLetter(queue_record(f"no {n}"), error) for n in range(20)]

        failures = SQSDeadLetters(model.sqs, "dead").send(letters, plenty)

        parked = {each.body for each in model.queues["dead"].arrived}
        named = {
            each.record.body for each in letters if each.record.message_id in failures
        }
        assert named
        assert named | parked == {each.record.body for each in letters}
