"""A refused message is answered: an event that names the message and the reason."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.builders import (
    SOURCE,
    create_ticket,
    queue_record,
    ticket_fields,
)
from tests.support.worker_on_fakes import WorkerOnFakes
from ticket_numbering.contract.errors import SequenceFullError
from ticket_numbering.contract.limits import Limits
from ticket_numbering.worker.results import Assigned, Poison, Refused, Result, Retry
from ticket_numbering.worker.sqs_record import SQSRecord

SECRET = "Ann Smith"


class System(WorkerOnFakes):
    """A worker over fakes."""

    def handle(self, *records: SQSRecord, **options: Any) -> Sequence[Result]:
        """Return the results of a batch."""
        return self.report(*records, **options).results

    def announces_no(
        self, record: SQSRecord, cause: str = "SequenceFullError/max_number"
    ) -> None:
        """Let the announcement of a record's refusal fail."""
        self.publisher.refused.add(f"refused/{record.message_id}/{cause}")

    @property
    def refusals(self) -> list[dict[str, Any]]:
        """The refusals announced."""
        events = [json.loads(one.message) for one in self.publisher.announced]
        return [event for event in events if "TicketRefused" in event["type"]]


@pytest.fixture
def system() -> System:
    """Return a worker over empty tables."""
    return System()


def full(**overrides: Any) -> SQSRecord:
    """Return a record whose request has reached its cap, once a number is given."""
    return queue_record(create_ticket(max_number=1, title=SECRET), **overrides)


def invalid(**fields: Any) -> SQSRecord:
    """Return a record with a field that the worker does not know."""
    return queue_record(ticket_fields(no_such_field=SECRET, **fields))


class TestEvent:
    """It is about one message, and says nothing else of the producer's words."""

    def test_event_is_a_cloudevent_of_documented_content(self, system: System) -> None:
        system.store.fill(1)
        record = full(messageId="m-1", sent_at=1_795_000_000_123)

        [result] = system.handle(record)

        assert isinstance(result, Refused)
        assert str(result.error) == "max_number: PROJ has reached 1"
        [event] = system.refusals
        key = json.loads(record.body or "")["idempotency_key"]
        assert event == {
            "specversion": "1.0",
            "id": "refused/m-1/SequenceFullError/max_number",
            "source": SOURCE,
            "type": "ticket-numbering.TicketRefused.v1",
            "subject": "PROJ",
            "datacontenttype": "application/json",
            "data": {
                "project_id": "PROJ",
                "idempotency_key": key,
                "error_type": "SequenceFullError",
                "field": "max_number",
                "message_id": "m-1",
                "sent_at": "2026-11-18T11:06:40.123Z",
            },
        }

    def test_poison_is_announced_without_its_words_in_a_group_of_its_own(
        self, system: System
    ) -> None:
        """On a FIFO topic a refusal never blocks the project's numbers."""
        without_a_time = SQSRecord("m", invalid(idempotency_key="k-1").body)

        system.handle(without_a_time)

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
        self, system: System, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Poison is a dead letter alone; a request at its cap has no other answer."""
        system.store.fill(1)
        poison, capped, neighbour = system.handle(
            queue_record(ticket_fields(no_such_field=SECRET), messageId=7),
            full(messageId=8),
            queue_record(create_ticket()),
        )

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
        self, system: System
    ) -> None:
        limits = Limits(AllowedProjects=re.compile("INV-[0-9]{4}"))
        allowed, typo = (create_ticket(name) for name in ("INV-2026", "INV-2O26"))

        first, second = system.handle(
            *map(queue_record, (allowed, typo)), limits=limits
        )

        assert isinstance(first, Assigned)
        assert isinstance(second, Poison)
        assert second.request == typo
        assert system.store.numbers("INV-2O26") == []
        assert [event["data"]["field"] for event in system.refusals] == ["project_id"]
        assert system.dead_letters.reasons == [str(limits.refusal(typo))]


class TestOrder:
    """The numbers first, then the refusals, in one call; dead letters last."""

    def test_refusal_at_a_cap_is_no_dead_letter_and_comes_again_until_it_is_announced(
        self, system: System
    ) -> None:
        """However often: it has no other answer."""
        system.store.fill(1)
        record, announced = full(receive_count=5), full()
        system.announces_no(record)

        first, second = system.handle(record, announced)

        assert (type(first), type(second)) == (Retry, Refused)
        assert isinstance(getattr(first, "refusal", None), SequenceFullError)
        assert system.dead_letters.sent == []

    @pytest.mark.parametrize(
        ("deliveries", "is_sent"),
        [(1, False), (4, False), (5, True)],
    )
    def test_poison_waits_for_its_event_in_the_first_deliveries(
        self, system: System, deliveries: int, *, is_sent: bool
    ) -> None:
        """Then its dead letter goes alone, for SQS would move it without a reason."""
        fields = ticket_fields(no_such_field=SECRET)
        record = queue_record(fields, receive_count=deliveries)
        system.announces_no(record, "InvalidMessageError/body")

        [result] = system.handle(record)

        assert isinstance(result, Poison) is is_sent
        assert bool(system.dead_letters.sent) is is_sent
