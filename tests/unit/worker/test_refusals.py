"""A refused message is answered: an event that names the message and the reason."""

import json
import re
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.builders import SOURCE, create_ticket, queue_record, ticket_fields
from tests.support.worker_on_fakes import WorkerOnFakes
from ticket_numbering.contract.errors import SequenceFullError
from ticket_numbering.contract.limits import Limits
from ticket_numbering.worker.results import Poison, Refused, Retry
from ticket_numbering.worker.sqs_record import SQSRecord

SECRET = "Ann Smith"


@pytest.fixture
def system() -> WorkerOnFakes:
    """Return a worker over a project that has one ticket."""
    system = WorkerOnFakes()
    system.store.fill(1)
    return system


def full(**overrides: Any) -> SQSRecord:
    """Return a record whose request has reached its cap."""
    return queue_record(create_ticket(max_number=1, title=SECRET), **overrides)


def invalid(**overrides: Any) -> SQSRecord:
    """Return a record with a field that the worker does not know."""
    fields = ticket_fields("PROJ", "k-1", no_such_field=SECRET)
    return queue_record(fields, **overrides)


class TestEvent:
    """It is about one message, and says nothing else of the producer's words."""

    def test_event_names_the_message_and_the_reason(
        self, system: WorkerOnFakes
    ) -> None:
        record = full(messageId="m-1", sent_at=1_795_000_000_123)

        [result] = system.report(record).results

        assert isinstance(result, Refused)
        assert str(result.error) == "max_number: PROJ has reached 1"
        [announced] = system.publisher.announced
        assert announced.event.source == SOURCE
        assert json.loads(announced.message)["data"] == {
            "project_id": "PROJ",
            "idempotency_key": result.request.idempotency_key,
            "error_type": "SequenceFullError",
            "field": "max_number",
            "reason": "cap_reached",
            "message_id": "m-1",
            "sent_at": "2026-11-18T11:06:40.123Z",
        }

    def test_poison_is_announced_without_its_words_in_a_group_of_its_own(
        self, system: WorkerOnFakes
    ) -> None:
        """On a FIFO topic a refusal never blocks the project's numbers."""
        without_a_time = SQSRecord("m", invalid().body)

        system.report(without_a_time)

        [announced] = system.publisher.announced
        entry = announced.entry(fifo=True)
        assert announced.event.id == "refused/m/InvalidMessageError/body"
        assert not re.search(f"{SECRET}|no_such_field|sent_at", str(entry))
        assert entry["MessageGroupId"] == "refused/PROJ"
        assert entry["MessageDeduplicationId"] == announced.event.id
        assert announced.attributes == {
            "event_type": "ticket-numbering.TicketRefused.v1",
            "project_id": "PROJ",
            "idempotency_key": "k-1",
            "error_type": "InvalidMessageError",
        }

    def test_neighbours_are_numbered_when_a_refusal_cannot_be_built(
        self, system: WorkerOnFakes, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Poison is a dead letter alone; a request at its cap has no other answer."""
        poison, capped, neighbour = system.report(
            invalid(messageId=7), full(messageId=8), queue_record()
        ).results

        assert isinstance(poison, Poison)
        assert isinstance(capped, Retry)
        assert isinstance(capped.error, ValidationError)
        assert not isinstance(neighbour, Retry)
        assert len(system.dead_letters.sent) == 1
        assert len(caplog.records) == 2
        for line in caplog.records:
            assert line.message == "a refusal cannot be announced"
            assert line.exc_info


class TestLimits:
    """A request that the stack does not allow is poison, and takes no number."""

    def test_request_is_refused_when_the_stack_does_not_allow_it(
        self, system: WorkerOnFakes
    ) -> None:
        limits = Limits(AllowedProjects=re.compile("INV-[0-9]{4}"))
        typo = create_ticket("INV-2O26")

        [result] = system.report(queue_record(typo), limits=limits).results

        assert isinstance(result, Poison)
        assert result.request == typo
        assert system.store.numbers("INV-2O26") == []
        [event_id] = system.publisher.ids
        assert event_id.endswith("/InvalidMessageError/project_id")
        assert result.error.reason == "not_allowed"
        assert system.dead_letters.reasons == [str(limits.refusal(typo))]


class TestOrder:
    """The numbers first, then the refusals, in one call; dead letters last."""

    def test_refusal_at_a_cap_is_no_dead_letter_and_comes_again_until_it_is_announced(
        self, system: WorkerOnFakes
    ) -> None:
        """However often: it has no other answer."""
        record = full(receive_count=5)
        system.publisher.refused = {
            f"refused/{record.message_id}/SequenceFullError/max_number"
        }

        first, second = system.report(record, full()).results

        assert (type(first), type(second)) == (Retry, Refused)
        assert isinstance(getattr(first, "refusal", None), SequenceFullError)
        assert system.dead_letters.sent == []

    @pytest.mark.parametrize(
        ("deliveries", "is_sent"), [(1, False), (4, False), (5, True)]
    )
    def test_poison_waits_for_its_event_in_the_first_deliveries(
        self, system: WorkerOnFakes, deliveries: int, *, is_sent: bool
    ) -> None:
        """Then its dead letter goes alone, for SQS would move it without a reason."""
        record = invalid(receive_count=deliveries)
        system.publisher.refused = {
            f"refused/{record.message_id}/InvalidMessageError/body"
        }

        [result] = system.report(record).results

        assert isinstance(result, Poison) is is_sent
        assert bool(system.dead_letters.sent) is is_sent
