"""`ticketctl announce` publishes the events of numbers again."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from threading import Barrier, BrokenBarrierError, Event
from typing import Any

import pytest
from botocore.stub import Stubber

from operators.model_services import InTurn, ModelServices
from simulation.aws.batches import UNAVAILABLE
from simulation.aws.errors import ServiceError
from simulation.aws.faults import Fault
from simulation.engine.choices import Choices
from tests.support.builders import announcement, block_of, create_ticket, create_tickets
from tests.support.canned_aws import aws_client
from tests.support.ctl_process import canned_stack
from tests.support.seed_items import block_items, ticket_item
from tests.support.stage import Stage, without_sleep
from ticket_numbering.contract.envelope import Envelope
from ticketctl.aws.items import serialized
from ticketctl.aws.retry import RateLimiter
from ticketctl.aws.table_reader import SETTLING_SECONDS
from ticketctl.aws.tickets import around_each
from ticketctl.aws.topic import publish
from ticketctl.cli.errors import CloudError
from ticketctl.sequences.announcing import Announcer
from ticketctl.sequences.reannouncing import Reannouncement

REQUEST = create_ticket(idempotency_key="k-1", priority="high", labels=["a"])


def announce(stage: Stage, first: int = 1, rate: int = 999_999) -> Any:
    stage.services.sns.requests.clear()
    words = ["announce", "--project", "PROJ", "--from", str(first)]
    return stage.call(*words, "--rate", str(rate))


def ids(entries: Iterable[Any]) -> list[str]:
    return [json.loads(entry["Message"])["id"] for entry in entries]


def attributes(entry: Any) -> dict[str, str]:
    named = entry["MessageAttributes"].items()
    return {name: attribute["StringValue"] for name, attribute in named}


class TestEvents:
    """A subscriber gets lost events again, and can drop repeats."""

    def test_event_is_that_of_the_worker_but_marked_as_replayed(
        self, stage: Stage
    ) -> None:
        """Also where the ticket before it is lost, and cannot be compared."""
        for request in (create_ticket(), REQUEST):
            stage.services.queues["source"].send(request.model_dump_json())
            stage.work()
        [_, first] = stage.published
        stage.lose("PROJ", 1)

        announce(stage, 2)

        [again] = stage.published
        assert attributes(again) == {**attributes(first), "replayed": "true"}
        assert all(again[name] == first[name] for name in ("Message", "MessageGroupId"))
        assert "MessageDeduplicationId" not in again

    def test_fifo_topic_gets_one_at_a_time_with_ids_that_it_does_not_drop(
        self, stage: Stage
    ) -> None:
        """It drops an id that it saw within five minutes."""
        stage.outputs["AssignmentsTopicArn"] += ".fifo"
        stage.put(1, 2, 3)

        announce(stage)

        assert {entry["Id"] for entry in stage.published} == {"0"}
        assert ids(stage.published) == ["PROJ-1", "PROJ-2", "PROJ-3"]
        deduplicated = {entry["MessageDeduplicationId"] for entry in stage.published}
        assert len(deduplicated) == 3
        assert not deduplicated & {"PROJ-1", "PROJ-2", "PROJ-3"}

    def test_ticket_is_announced_when_a_segment_starts_with_it(
        self, stage: Stage
    ) -> None:
        """An audit names the restart; the ticket is as it was announced."""
        for number, request in enumerate(create_tickets(2), 1):
            stage.write(*block_items(block_of([request], number)))

        announce(stage)

        assert ids(stage.published) == ["PROJ-1", "PROJ-2"]


MALFORMED: list[dict[str, Any]] = [
    *({"idempotency_key": "a key"}, {"priority": "odd"}),
    *({"voided_at": "x"}, {"assigned_at": None}),
]


class TestRange:
    """The numbers of a range, each accounted for."""

    @pytest.mark.parametrize(
        ("there", "last"), [((1, 4), 3), ((1, 4), 4), ((1,), 3), ((1, 2), 3)]
    )
    def test_number_is_read_again_when_a_query_saw_half_of_its_block(
        self, stage: Stage, there: Sequence[int], last: int
    ) -> None:
        """The others of its block come after it all the same."""
        stage.put(*there)
        pauses: list[float] = []

        def settle(seconds: float) -> None:
            pauses.append(seconds)
            stage.put(*{2, 3}.difference(there))

        repeat = Reannouncement(stage, "PROJ", 1, last, sleep=settle)

        numbers = [ticket.number for ticket, _ in repeat.tickets()]

        assert numbers == [*range(1, last + 1)]
        assert pauses == [SETTLING_SECONDS]
        assert not repeat.problems

    @pytest.mark.parametrize("wrong", MALFORMED, ids=str)
    def test_malformed_ticket_is_told_and_the_others_announced(
        self, stage: Stage, wrong: dict[str, Any]
    ) -> None:
        stage.put(1, 2, 3)
        fields = (stage.tickets()[2] | wrong).items()
        stage.write(serialized({name: value for name, value in fields if value}))

        ended = announce(stage)

        assert ids(stage.published) == ["PROJ-1", "PROJ-3"]
        assert ended.err.startswith("PROJ-2 is malformed; see: ticketctl show PROJ-2")

    def test_fraction_is_no_neighbour_of_a_number(self, stage: Stage) -> None:
        stage.put(1, 2)
        stage.write(ticket_item("PROJ", "1.5", "another key"))

        around = [items for _, items in around_each(stage, "PROJ", [1, 2])]

        numbers = [
            [item and item.fields["number"] for item in items] for items in around
        ]
        assert numbers == [[None, 1, 2], [1, 2, None]]


def replayed(entries: Iterable[Any]) -> list[str]:
    """Return the ids of the events, without a mark's own event."""
    return ids(entry for entry in entries if attributes(entry)["replayed"] == "true")


class TestMeanwhile:
    """A ticket that changes meanwhile is announced in its new state."""

    @pytest.mark.parametrize(
        ("mark", "events"),
        [("erase", ["PROJ-45/erased"]), ("void", ["PROJ-45", "PROJ-45/voided"])],
    )
    def test_ticket_is_announced_as_it_stands_when_it_is_marked_after_it_was_read(
        self, stage: Stage, mark: Any, events: list[str]
    ) -> None:
        stage.write(*block_items(block_of(create_tickets(60))))
        marking = partial(stage.call, mark, "PROJ-45", "--reason", "asked to")
        stage.before("batch_get_item", dict, dict, marking)

        ended = announce(stage, rate=100)

        keys = [f"PROJ-{number}" for number in range(1, 61)]
        out = [*keys[:44], *events, *keys[45:]]
        assert sorted(replayed(stage.published)) == sorted(out)
        first, again = (e for e in stage.published if ids([e]) == events[-1:])
        assert first["Message"] == again["Message"]
        assert f"TicketNumberAssigned {len({*out} & {*keys})}, " in ended.out
        reads = stage.dynamodb.requests["batch_get_item"]
        sizes = [len(read["RequestItems"]["tickets"]["Keys"]) for read in reads]
        assert sizes == [20] * (3 + (mark == "void"))

    @pytest.mark.parametrize(
        ("waits", "batches"),
        [
            (0, [["PROJ-1", "PROJ-2", "PROJ-3/erased", "PROJ-4"]]),
            (1, [["PROJ-1", "PROJ-2", "PROJ-3", "PROJ-4"], ["PROJ-3/erased"]]),
        ],
        ids=["for the rate", "for another attempt"],
    )
    def test_text_does_not_follow_its_erasure_when_the_announcer_waits(
        self, stage: Stage, waits: int, batches: list[list[str]]
    ) -> None:
        stage.write(*block_items(block_of(create_tickets(4))))
        stage.services.topic.on_publish = failing_at(
            "PROJ-3", "InternalError", UNAVAILABLE
        )
        erasing = partial(stage.call, "erase", "PROJ-3", "--reason", "asked to")
        acts: Iterator[Callable[[], object]] = iter([*[dict] * waits, erasing])

        def wait(_: float) -> None:
            next(acts, dict)()

        announcer = Announcer(stage, retry=without_sleep(sleep=wait))
        Reannouncement(stage, "PROJ", 1, 4).publish(announcer)

        sent = map(replayed, stage.services.sns.batches)
        assert [batch for batch in sent if batch] == batches
        assert "PROJ-3" not in stage.services.topic.published

    def test_number_is_told_as_missing_when_its_ticket_is_deleted(
        self, stage: Stage
    ) -> None:
        stage.put(1, 2)
        stage.before("batch_get_item", partial(stage.lose, "PROJ", 2))

        ended = announce(stage)

        assert ids(stage.published) == ["PROJ-1"]
        assert ended.err.count("missing: PROJ-2; see: ticketctl audit") == 1


def failing_at(event_id: str, code: str, status: int = 400) -> Callable[[Any], None]:
    """Return an act at which SNS fails to take an event."""

    def on_publish(event: Any) -> None:
        if event["id"] == event_id:
            raise ServiceError(code, status=status)

    return on_publish


def partly_at_first() -> InTurn:
    """Let SNS take only a part of the first batches."""
    return InTurn({"publish_batch": [Fault.PARTIAL] * 9})


def envelopes(count: int) -> list[Envelope]:
    return [announcement(number=number) for number in range(1, count + 1)]


class TestPublishing:
    """Each event is out before it counts as announced."""

    @pytest.mark.parametrize("seed", range(5))
    def test_event_is_published_again_when_sns_failed_to_take_it(
        self, stage: Stage, seed: int
    ) -> None:
        stage.services = ModelServices(Choices(seed), partly_at_first())
        wanted = envelopes(25)

        out = [*Announcer(stage, retry=without_sleep()).publish(lambda: wanted)]

        assert out == wanted
        assert stage.services.topic.published.keys() == {
            envelope.event.id for envelope in wanted
        }

    def test_event_is_not_out_when_the_answer_does_not_name_it(self) -> None:
        sns = Stubber(aws_client("sns"))
        named = [{"Id": "0", "MessageId": "PROJ-1"}]
        sns.add_response("publish_batch", {"Successful": named, "Failed": []})
        topic = {"AssignmentsTopicArn": "arn:aws:sns:eu-west-1:1:assignments"}
        first, second = envelopes(2)

        assert publish(canned_stack(topic, sns=sns), [first, second]) == [second]

    def test_error_names_the_event_when_sns_refuses_it(self, stage: Stage) -> None:
        stage.services = ModelServices(faults=partly_at_first())

        stage.services.topic.on_publish = failing_at("PROJ-3", "InvalidParameter")
        announcer = Announcer(stage, retry=without_sleep())

        with pytest.raises(CloudError, match="does not take PROJ-3: InvalidParameter"):
            list(announcer.publish(lambda: envelopes(4)))

    @pytest.mark.parametrize(
        ("rate", "count", "waits"), [(4, 10, [0, 1, 2]), (100, 50, [0, 0.2, 0.4])]
    )
    def test_batches_keep_to_the_rate(
        self, stage: Stage, rate: int, count: int, waits: list[float]
    ) -> None:
        """A second's share at most in a call, a fifth's in concurrent ones."""
        waited: list[float] = []
        limiter = RateLimiter(rate, clock=lambda: 0.0)
        announcer = Announcer(stage, limiter, without_sleep(sleep=waited.append))

        list(announcer.publish(lambda: envelopes(count)))

        assert waited == waits
        assert len(stage.published) == count


class Backwards:
    """SNS, which answers eight concurrent calls of ten numbers in reversed order."""

    def __init__(self, sns: Any, interrupted: int) -> None:
        """Interrupt the call that begins with a number."""
        self.sns, self.interrupted = sns, interrupted
        self.answered = {number: Event() for number in range(1, 161, 10)}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sns, name)

    def publish_batch(self, **request: Any) -> Any:
        [first, *_] = ids(request["PublishBatchRequestEntries"])
        number = int(first.removeprefix("PROJ-"))
        is_last = number % 80 == 71
        assert is_last or self.answered[number + 10].wait(timeout=10)
        try:
            if number == self.interrupted:
                raise KeyboardInterrupt
            return self.sns.publish_batch(**request)
        finally:
            self.answered[number].set()


UP_TO_80 = "announced: up to PROJ-80; go on with that number as --from"


class TestInFlight:
    """Nothing is left out, whatever the order of the answers to concurrent calls."""

    @pytest.mark.parametrize("interrupted", [81, 101, 151])
    def test_all_up_to_the_number_is_out_when_later_answers_came_first(
        self, stage: Stage, interrupted: int
    ) -> None:
        stage.put(*range(1, 161))
        services, sns = stage.services, stage.services.sns
        services.sns = Backwards(sns, interrupted)

        ended = announce(stage)

        assert ended.err.splitlines() == [UP_TO_80]
        later = {f"PROJ-{number}" for number in range(81, 161)}
        assert len(later & services.topic.published.keys()) == 70
        services.sns = sns
        announce(stage, 80)
        assert len(services.topic.published) == 160

    def test_all_up_to_the_number_is_out_when_sns_keeps_failing(
        self, stage: Stage
    ) -> None:
        stage.put(*range(1, 161))
        stage.services.topic.on_publish = failing_at(
            "PROJ-95", "InternalError", UNAVAILABLE
        )

        note, error = announce(stage).err.splitlines()

        assert note == UP_TO_80
        assert "SNS did not take some events, 40 times in a row" in error
        assert len(stage.services.topic.published) == 159

    def test_call_waits_for_the_answer_before_when_the_topic_is_fifo(
        self, stage: Stage
    ) -> None:
        stage.outputs["AssignmentsTopicArn"] += ".fifo"
        meet = partial(Barrier(2).wait, timeout=0.2)
        stage.before("publish_batch", meet, meet)

        with pytest.raises(BrokenBarrierError):
            list(Announcer(stage).publish(lambda: envelopes(2)))
