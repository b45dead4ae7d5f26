"""A letter leaves the dead-letter queue after its successor is on the queue."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.dead_letter_queue import (
    DEAD,
    FIFO_QUEUE,
    QUEUE,
    Site,
    Sqs,
    letter,
    letters,
    text,
)
from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.dead_letters.choosing import Choice, choose
from ticketctl.dead_letters.hold import HOLD_SECONDS, Hold
from ticketctl.dead_letters.holding import holding
from ticketctl.dead_letters.letters import Filter, Letter
from ticketctl.dead_letters.redriving import Redrive, Redriven
from ticketctl.dead_letters.successors import entry_size, successor
from ticketctl.dead_letters.tasks import redrive_chosen


@pytest.fixture
def sqs() -> Sqs:
    """Return an empty dead-letter queue and its source."""
    return Sqs()


def redrive(
    sqs: Sqs, queue_url: str = QUEUE, *, lost: frozenset[str] = frozenset()
) -> Redriven:
    """Send back all that lies there."""
    with holding(sqs, DEAD) as held:
        chosen = list(held.receive())
        held.lost = lost
        return Redrive(sqs, queue_url, held).run(chosen, lambda _: None)


class TestNothingLost:
    """A letter is deleted only when its successor lies on the queue."""

    def test_letters_are_sent_and_then_deleted(self, sqs: Sqs) -> None:
        """In batches, each of them sent before it is deleted."""
        sqs.letters = letters(12)
        bodies = [each.body for each in sqs.letters]

        done = redrive(sqs)

        assert sqs.bodies == bodies
        assert sqs.letters == []
        steps = [each for each in sqs.calls if each in {"send", "delete"}]
        assert steps == ["send", "delete", "send", "delete"]
        assert done == Redriven(sent=12)

    def test_nothing_is_deleted_when_every_send_is_refused(self, sqs: Sqs) -> None:
        """The answer's status is 200; only its list of failures tells."""
        sqs.letters = letters(3)
        sqs.refused_sends = {each.body for each in sqs.letters}
        ids = sqs.ids

        done = redrive(sqs)

        assert sqs.ids == ids
        assert "delete" not in sqs.calls
        assert done.unsent == dict.fromkeys(ids, "not now")

    def test_only_what_was_taken_is_deleted_when_some_sends_are_refused(
        self, sqs: Sqs
    ) -> None:
        """The refused one is named with SQS's reason."""
        sqs.letters = [one, two, three] = letters(3)
        sqs.refused_sends = {two.body}

        done = redrive(sqs)

        assert sqs.letters == [two]
        assert sqs.bodies == [one.body, three.body]
        assert done == Redriven(sent=2, unsent={two.message_id: "not now"})

    def test_nothing_more_is_tried_when_sending_fails_as_a_whole(
        self, sqs: Sqs
    ) -> None:
        """Nobody knows what became of the batch, so all of it stays."""
        sqs.letters = letters(12)
        sqs.broken = {"send"}

        done = redrive(sqs)

        assert len(sqs.letters) == 12
        assert sqs.calls.count("send") == 1
        assert done.unsent.keys() == set(sqs.ids)
        assert done.sent == 0

    @pytest.mark.parametrize("as_a_whole", [False, True])
    def test_letter_is_reported_when_it_was_sent_but_not_deleted(
        self, sqs: Sqs, *, as_a_whole: bool
    ) -> None:
        """It is there twice, which is harmless, and somebody should know."""
        sqs.letters = [one, two] = letters(2)
        if as_a_whole:
            sqs.broken = {"delete"}
        else:
            sqs.refused_handles = {one.message_id, two.message_id}

        done = redrive(sqs)

        assert done.sent == 2
        assert done.unsent == {}
        assert done.undeleted.keys() == {one.message_id, two.message_id}

    def test_letter_is_not_sent_when_others_may_have_it(self, sqs: Sqs) -> None:
        """They may have deleted it, and then it must not come back."""
        sqs.letters = [one, two] = letters(2)

        done = redrive(sqs, lost=frozenset({one.message_id}))

        assert sqs.bodies == [two.body]
        assert done.unsent.keys() == {one.message_id}

    def test_batches_fit_the_limit_when_bodies_are_large(self, sqs: Sqs) -> None:
        """1 MiB is the limit of a message and of a batch."""
        sqs.letters = [letter(body="x" * 600_000) for _ in range(3)]

        redrive(sqs)

        assert sqs.calls.count("send") == 3
        assert sqs.letters == []

    def test_messages_are_paced_when_a_rate_is_given(self, sqs: Sqs) -> None:
        """Never more than the rate in a second."""
        sqs.letters = letters(5)
        naps: list[float] = []

        with holding(sqs, DEAD) as held:
            chosen = list(held.receive())
            Redrive(sqs, QUEUE, held, rate=2, sleep=naps.append).run(
                chosen, lambda _: None
            )

        assert naps == [1, 1, 0.5]
        assert sqs.calls.count("send") == 3


class BrokenOffSqs(Sqs):
    """SQS, where somebody presses Ctrl-C while the second batch is sent."""

    def send_message_batch(self, **call: Any) -> dict[str, Any]:
        """Take one batch."""
        if self.sent:
            raise KeyboardInterrupt
        return super().send_message_batch(**call)


class TestBrokenOff:
    """Who stops the work learns how far it came."""

    def test_one_is_told_what_was_sent_when_somebody_presses_ctrl_c(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The rest is as it was."""
        sqs = BrokenOffSqs(letters(12))
        everything = Choice((), everything=True, filter=Filter())

        with pytest.raises(KeyboardInterrupt):
            redrive_chosen(Site(sqs), everything, None, yes=True)

        told = "sent back 10, the others are still dead letters\n"
        assert capsys.readouterr().err.endswith(told)
        assert len(sqs.letters) == 2


class TestSuccessor:
    """What is sent is what the producer sent."""

    def test_producers_attributes_stay_and_the_reason_goes(self) -> None:
        """The body too stays byte for byte."""
        dead = letter(ErrorType="InvalidMessageError", ErrorMessage="x", trace="abc")

        entry = successor(dead, fifo=False)

        assert entry == {
            "MessageBody": dead.body,
            "MessageAttributes": {"trace": text("abc")},
            "MessageGroupId": "PROJ",
        }

    def test_attribute_stays_when_it_is_only_named_like_ours(self) -> None:
        """What SQS moved has no reason, so all of it is the producer's."""
        entry = successor(letter(SentTimestamp="monday"), fifo=False)

        assert entry["MessageAttributes"] == {"SentTimestamp": text("monday")}

    def test_bytes_of_attributes_are_kept_and_count(self) -> None:
        """Name, type and value count for SQS's limit."""
        attributes = {"raw": {"DataType": "Binary", "BinaryValue": b"\x00\xff"}}
        entry = successor(Letter("id", "body", attributes), fifo=False)

        assert entry["MessageAttributes"] == attributes
        assert entry_size(entry) == len("body") + len("raw") + len("Binary") + 2

    def test_no_group_is_given_when_the_body_shows_none(self) -> None:
        """A standard queue needs none."""
        assert "MessageGroupId" not in successor(letter(body="{"), fifo=False)


class TestInOrder:
    """On a FIFO queue each group keeps its order."""

    def test_ids_are_new_when_the_queue_is_fifo(self, sqs: Sqs) -> None:
        """SQS must not take a redrive within five minutes for a repeat."""
        sqs.letters = [letter("A"), letter("B"), letter(body="{")]

        redrive(sqs, FIFO_QUEUE)

        assert [each["MessageGroupId"] for each in sqs.sent] == ["A", "B", "-"]
        assert len({each["MessageDeduplicationId"] for each in sqs.sent}) == 3

    def test_group_waits_when_one_of_its_letters_is_refused(self, sqs: Sqs) -> None:
        """The others go on."""
        sqs.letters = [one, other, two] = [letter("A"), letter("B"), letter("A")]
        sqs.refused_sends = {one.body}

        done = redrive(sqs, FIFO_QUEUE)

        assert sqs.bodies == [other.body]
        assert done.unsent.keys() == {one.message_id, two.message_id}


class ImpatientSqs(Sqs):
    """SQS, where a signal comes while letters are made visible again."""

    kind = signal.SIGINT

    def change_message_visibility_batch(self, **call: Any) -> dict[str, Any]:
        """Get a signal first."""
        signal.raise_signal(self.kind)
        return super().change_message_visibility_batch(**call)


class TestHold:
    """Nobody waits longer for a letter than the work takes."""

    def test_every_letter_is_seen_once_when_sqs_gives_few_at_a_time(
        self, sqs: Sqs
    ) -> None:
        """And some of them twice."""
        sqs.letters = letters(7)
        sqs.extra_receives = 1

        with holding(sqs, DEAD) as held:
            seen = [each.message_id for each in held.receive()]

        assert seen == sqs.ids

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_letters_are_visible_again_when_the_work_is_cut_short(
        self, sqs: Sqs, error: type[BaseException]
    ) -> None:
        """All that were received, also those that were not looked at."""
        sqs.letters = letters(3)

        def look_at_one() -> None:
            with holding(sqs, DEAD) as held:
                next(held.receive())
                assert set(sqs.hidden.values()) == {HOLD_SECONDS}
                raise error

        with pytest.raises(error):
            look_at_one()

        assert sqs.hidden == dict.fromkeys(sqs.ids, 0)

    @pytest.mark.parametrize("kind", [signal.SIGINT])
    def test_letters_are_visible_again_when_a_signal_comes_while_they_are_received(
        self, sqs: Sqs, kind: signal.Signals
    ) -> None:
        """SQS has hidden them, but its answer is still on its way."""
        sqs.letters = letters(3)
        sqs.interrupted_by = kind

        with pytest.raises(KeyboardInterrupt), holding(sqs, DEAD) as held:
            list(held.receive())

        assert sqs.hidden == dict.fromkeys(sqs.ids, 0)

    @pytest.mark.parametrize("kind", [signal.SIGINT])
    @pytest.mark.parametrize("kind_before", [None, signal.SIGINT])
    def test_letters_are_visible_again_when_a_signal_comes_while_closing(
        self, kind: signal.Signals, kind_before: signal.Signals | None
    ) -> None:
        """Be it the first or the second one; it ends the program all the same."""
        sqs = ImpatientSqs(letters(3))
        sqs.kind = kind
        sqs.interrupted_by = kind_before
        handlers = [signal.getsignal(each) for each in signal.Signals]

        with pytest.raises(KeyboardInterrupt), holding(sqs, DEAD) as held:
            list(held.receive())

        assert sqs.hidden == dict.fromkeys(sqs.ids, 0)
        assert [signal.getsignal(each) for each in signal.Signals] == handlers

    def test_letters_are_visible_again_when_another_thread_held_them(
        self, sqs: Sqs
    ) -> None:
        """Only the main thread may care for signals."""
        sqs.letters = letters(1)

        def look() -> None:
            with holding(sqs, DEAD) as held:
                list(held.receive())

        with ThreadPoolExecutor(1) as thread:
            thread.submit(look).result()

        assert sqs.hidden == dict.fromkeys(sqs.ids, 0)

    def test_the_rest_is_visible_at_once_when_some_are_chosen(self, sqs: Sqs) -> None:
        """While the work on the chosen ones goes on."""
        sqs.letters = [one, two] = [letter("A"), letter("B")]

        with holding(sqs, DEAD) as held:
            chosen = choose(held, Choice((), everything=False, filter=Filter("A")))

            assert chosen == [one]
            assert sqs.hidden == {one.message_id: HOLD_SECONDS, two.message_id: 0}

    def test_letters_stay_hidden_while_the_work_takes_long(self, sqs: Sqs) -> None:
        """They are renewed in time, again and again."""
        sqs.letters = letters(1)

        with holding(sqs, DEAD, renew_seconds=0.001) as held:
            list(held.receive())
            assert sqs.renewed.wait(10)
            sqs.renewed.clear()
            assert sqs.renewed.wait(10)

    def test_work_goes_on_when_a_renewal_fails(self, sqs: Sqs) -> None:
        """There is another one in time."""
        sqs.letters = letters(1)

        with holding(sqs, DEAD) as held:
            list(held.receive())
            sqs.broken = {"change"}
            held.renew()
            assert held.lost == set(sqs.ids)
            sqs.broken = set()
            held.renew()
            assert held.lost == frozenset()

    def test_letter_is_received_anew_when_the_hold_was_lost(self, sqs: Sqs) -> None:
        """The computer slept for a while, say; nobody else took it."""
        sqs.letters = letters(1)

        with holding(sqs, DEAD) as held:
            [one] = held.receive()
            sqs.refused_handles = {one.message_id}
            held.renew()
            sqs.hidden.clear()

            assert held.regains(one)
            assert held.lost == frozenset()

    def test_letter_is_not_regained_when_somebody_deleted_it(self, sqs: Sqs) -> None:
        """There is nothing to receive."""
        sqs.letters = letters(1)

        with holding(sqs, DEAD) as held:
            [one] = held.receive()
            sqs.refused_handles = {one.message_id}
            sqs.letters = []

            assert not held.regains(one)

    def test_one_is_told_when_letters_stay_hidden(
        self, sqs: Sqs, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Others will see them, but not at once."""
        sqs.letters = letters(2)

        with holding(sqs, DEAD) as held:
            list(held.receive())
            sqs.broken = {"change"}

        assert (
            f"2 letters stay hidden for up to {HOLD_SECONDS} s"
            in capsys.readouterr().err
        )


@pytest.fixture
def held(sqs: Sqs) -> Iterator[Hold]:
    """Return a hold on four letters."""
    sqs.letters = [
        Letter(f"{start}-0000-4000-8000-000000000000", "{")
        for start in ("aaaa0000", "aaab0000", "bbbb0000", "cccc0000")
    ]
    with holding(sqs, DEAD) as held:
        yield held


def by_id(*ids: str) -> Choice:
    """Choose by ids."""
    return Choice(ids, everything=False, filter=Filter())


class TestWhatIsBehind:
    """On a FIFO queue a letter hides what is behind it in its group."""

    def test_one_is_told_when_letters_are_left_behind_the_chosen(
        self, sqs: Sqs, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """They come when these are settled."""
        sqs.letters = letters(5)
        sqs.hidden = dict.fromkeys(sqs.ids[2:], HOLD_SECONDS)

        with holding(sqs, f"{DEAD}.fifo") as held:
            choose(held, Choice((), everything=True, filter=Filter()))

        assert "about 3 more" in capsys.readouterr().err


class TestIds:
    """A person writes as much of an id as is needed."""

    def test_letter_is_found_when_its_id_is_abbreviated(self, held: Hold) -> None:
        """In any case of letters, and once when it is named twice."""
        [found] = choose(held, by_id("AAAB", "aaab0000"))

        assert found.message_id.startswith("aaab")

    def test_search_ends_early_when_ids_are_whole(self, held: Hold, sqs: Sqs) -> None:
        """There is nothing to compare with."""
        choose(held, by_id(sqs.ids[0]))

        assert sqs.calls.count("receive") == 1

    def test_neighbours_are_visible_at_once_when_ids_are_whole(
        self, held: Hold, sqs: Sqs
    ) -> None:
        """Also those that came with the chosen one and were not looked at."""
        one, two, three, _ = sqs.ids

        choose(held, by_id(one))

        assert sqs.hidden == {one: HOLD_SECONDS, two: 0, three: 0}

    @pytest.mark.parametrize("start", ["aaa", ""])
    def test_id_is_refused_when_it_begins_several(self, held: Hold, start: str) -> None:
        """The message says to write more of it."""
        with pytest.raises(InputError, match="write more"):
            choose(held, by_id(start))

    def test_id_is_reported_when_no_letter_has_it(self, held: Hold) -> None:
        """With what was looked through."""
        with pytest.raises(NotThereError, match="dddd among 4 of about 4"):
            choose(held, by_id("dddd"))
