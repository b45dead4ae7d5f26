"""One contract for every ticket store: the fake, and the adapter on two DynamoDBs."""

from typing import Any

import pytest

from tests.integration.conftest import empty_store
from tests.support.builders import create_ticket, create_tickets
from tests.support.cases import cases
from ticket_numbering.messages import Assignment, CreateTicket, RequestKey
from ticket_numbering.ports import (
    Block,
    Cancelled,
    Committed,
    Reason,
    Refused,
    Slot,
    TicketStore,
)

EARLIER = "2026-11-20T18:30:00.123Z"
NOW = "2026-11-21T06:00:00.000Z"

TAKEN = Slot(ticket=Reason.CONDITION_FAILED)
FREE = Slot()


def write(
    store: TicketStore,
    first_number: int,
    *requests: CreateTicket,
    assigned_at: str = NOW,
) -> Committed | Cancelled | Refused:
    """Write requests of one project as a block."""
    project_id = requests[0].project_id
    return store.write_block(Block(project_id, first_number, assigned_at, requests))


def fill(store: TicketStore, count: int, project_id: str = "PROJ") -> None:
    """Give a project so many tickets."""
    requests = create_tickets(count, project_id)
    for start in range(0, count, 50):
        some = requests[start : start + 50]
        assert write(store, start + 1, *some) == Committed()


def assigned(request: CreateTicket, number: int, at: str = NOW) -> Assignment:
    """Return what a store has recorded of a request."""
    return Assignment(number, request.fingerprint, at)


def replay(request: CreateTicket, number: int, at: str = NOW) -> Slot:
    """Return the slot of a request that has a number, at a number that is free."""
    return Slot(key=Reason.CONDITION_FAILED, recorded=assigned(request, number, at))


class TestLastNumber:
    """A project's last number is its highest sort key."""

    def test_last_number_is_zero_when_the_project_has_no_ticket(
        self, store: TicketStore
    ) -> None:
        """Numbers start at one."""
        assert store.last_number("PROJ") == 0

    @pytest.mark.parametrize("count", [1, 2, 9, 10, 11, 99, 100, 101])
    def test_last_number_is_the_highest_as_a_number(
        self, store: TicketStore, count: int
    ) -> None:
        """Ten comes after nine, and a hundred after ninety-nine."""
        fill(store, count)

        assert store.last_number("PROJ") == count

    def test_last_number_is_the_project_s_own(self, store: TicketStore) -> None:
        """Projects whose ids resemble each other are not mixed up."""
        fill(store, 3, "PROJ")
        fill(store, 2, "PROJ-1")
        fill(store, 1, "proj")

        numbers = {
            each: store.last_number(each)
            for each in ("PROJ", "PROJ-1", "proj", "PRO", "PROJ-")
        }

        assert numbers == {"PROJ": 3, "PROJ-1": 2, "proj": 1, "PRO": 0, "PROJ-": 0}


class TestCommit:
    """A block is written whole, tickets and keys together."""

    @pytest.mark.parametrize("length", [1, 2, 10, 50])
    def test_write_block_commits_every_ticket_and_every_key(
        self, store: TicketStore, length: int
    ) -> None:
        """Requests take contiguous numbers in their order."""
        requests = create_tickets(length)

        answer = write(store, 1, *requests)

        assert answer == Committed()
        assert store.last_number("PROJ") == length
        assert store.recorded([each.key for each in requests]) == {
            each.key: assigned(each, number) for number, each in enumerate(requests, 1)
        }

    def test_write_block_commits_a_block_behind_another(
        self, store: TicketStore
    ) -> None:
        """The second block begins where the first one ended."""
        fill(store, 3)
        requests = create_tickets(2)

        answer = write(store, 4, *requests)

        assert answer == Committed()
        assert store.last_number("PROJ") == 5

    def test_write_block_commits_tickets_with_every_field(
        self, store: TicketStore
    ) -> None:
        """Any valid text can be stored, empty ones and emoji too."""
        request = create_ticket(
            "A.b_c-1",
            "!\"#$%&'()*+,/:;<=>?@[\\]^`{|}~",
            title="Caf\u00e9 \U0001f469\u200d\U0001f467",
            description="",
            priority="urgent",
            reporter="Ada",
            labels=["b", "a", "b"],
            attributes={"floor": "0", "\u0627": ""},
        )

        answer = write(store, 1, request)

        assert answer == Committed()
        assert store.recorded([request.key]) == {request.key: assigned(request, 1)}


class TestAllOrNothing:
    """One failed condition anywhere, and nothing of the block is written."""

    @pytest.mark.parametrize("before", [0, 3], ids=["first", "later"])
    @pytest.mark.parametrize("taken", [False, True], ids=["free", "taken"])
    @pytest.mark.parametrize("known", [False, True], ids=["new", "recorded"])
    def test_write_block_answers_every_combination(
        self,
        store: TicketStore,
        before: int,
        taken: bool,  # noqa: FBT001 - a parameter of the matrix.
        known: bool,  # noqa: FBT001
    ) -> None:
        """{first, later} number x {free, taken} x {new, recorded} request."""
        fill(store, before)
        first = before + 1
        request, other = create_tickets(2)
        if taken or known:
            write(store, first, request if known else other, assigned_at=EARLIER)
        last = store.last_number("PROJ")

        answer = write(store, first if taken else last + 1, request)

        failed, recorded = Reason.CONDITION_FAILED, assigned(request, first, EARLIER)
        answers: dict[tuple[bool, bool], Committed | Cancelled] = {
            (False, False): Committed(),
            (True, False): Cancelled([TAKEN]),
            (False, True): Cancelled([replay(request, first, EARLIER)]),
            (True, True): Cancelled([Slot(failed, failed, recorded)]),
        }
        assert answer == answers[taken, known]
        assert store.last_number("PROJ") == last + (answer == Committed())

    @pytest.mark.parametrize("position", [0, 1, 2])
    def test_write_block_writes_nothing_when_one_request_is_a_replay(
        self, store: TicketStore, position: int
    ) -> None:
        """Wherever the replay stands, its neighbours get no number in this block."""
        old, *fresh = create_tickets(3)
        write(store, 1, old)
        requests = [*fresh]
        requests.insert(position, old)

        answer = write(store, 2, *requests)

        slots = [FREE, FREE]
        slots.insert(position, replay(old, 1))
        assert answer == Cancelled(slots)
        assert store.last_number("PROJ") == 1
        assert store.recorded([each.key for each in fresh]) == {}

    @pytest.mark.parametrize("run", [1, 2, 3])
    def test_write_block_tells_how_many_numbers_are_taken(
        self, store: TicketStore, run: int
    ) -> None:
        """A block that comes too late sees the run of taken numbers at its start."""
        fill(store, 5 + run)
        requests = create_tickets(3)

        answer = write(store, 6, *requests)

        assert answer == Cancelled([TAKEN] * run + [FREE] * (3 - run))
        assert store.last_number("PROJ") == 5 + run
        assert store.recorded([each.key for each in requests]) == {}

    def test_write_block_tells_which_numbers_are_from_elsewhere(
        self, seeded_store: TicketStore
    ) -> None:
        """Reserved or imported: the sequence does not go on right after them."""
        fill(seeded_store, 2)

        answer = write(seeded_store, 2, *create_tickets(4))

        elsewhere = Slot(Reason.CONDITION_FAILED, is_elsewhere=True)
        assert answer == Cancelled([TAKEN, elsewhere, elsewhere, FREE])
        assert seeded_store.last_number("PROJ") == 4

    def test_write_block_tells_mixed_reasons_by_position(
        self, store: TicketStore
    ) -> None:
        """Taken number, taken number of a replay, replay, and neither."""
        old, older = create_tickets(2)
        write(store, 1, older, old, assigned_at=EARLIER)
        fresh = create_tickets(2)

        answer = write(store, 1, fresh[0], old, older, fresh[1])

        both = Reason.CONDITION_FAILED
        assert answer == Cancelled(
            [
                TAKEN,
                Slot(both, both, assigned(old, 2, EARLIER)),
                replay(older, 1, EARLIER),
                FREE,
            ]
        )

    def test_write_block_commits_after_a_cancelled_one(
        self, store: TicketStore
    ) -> None:
        """A cancelled block leaves nothing behind that is in the way."""
        fill(store, 1)
        request = create_ticket()
        write(store, 1, request)

        answer = write(store, 2, request)

        assert answer == Committed()
        assert store.recorded([request.key]) == {request.key: assigned(request, 2)}


class TestReplay:
    """A request that has a number shows it, as it was first assigned."""

    def test_write_block_shows_what_was_recorded(self, store: TicketStore) -> None:
        """Number, fingerprint and time are those of the first assignment."""
        request = create_ticket()
        fill(store, 41)
        write(store, 42, request, assigned_at=EARLIER)

        answer = write(store, 43, request, assigned_at=NOW)

        assert answer == Cancelled([replay(request, 42, EARLIER)])

    def test_write_block_shows_the_first_fingerprint_when_the_request_differs(
        self, store: TicketStore
    ) -> None:
        """A key that was used for another ticket can be told by its fingerprint."""
        first = create_ticket("PROJ", "order-7", title="Door")
        other = create_ticket("PROJ", "order-7", title="Window")
        write(store, 1, first)

        answer = write(store, 2, other)

        assert answer == Cancelled([replay(first, 1)])
        assert first.fingerprint != other.fingerprint

    def test_write_block_repeated_as_it_was_is_a_replay(
        self, store: TicketStore
    ) -> None:
        """Where the answer to a committed block was lost, the keys give it."""
        requests = create_tickets(3)
        write(store, 1, *requests)

        answer = write(store, 1, *requests)

        failed = Reason.CONDITION_FAILED
        assert answer == Cancelled(
            [
                Slot(failed, failed, assigned(each, number))
                for number, each in enumerate(requests, 1)
            ]
        )
        assert store.last_number("PROJ") == 3

    def test_recorded_assignment_is_that_of_the_block(self, store: TicketStore) -> None:
        request = create_ticket()
        block = Block("PROJ", 1, NOW, [request])
        store.write_block(block)

        found = store.recorded([request.key])

        assert found == block.assignments()


class TestRecorded:
    """A lookup finds what exists, and nothing else."""

    def test_recorded_finds_nothing_when_asked_for_nothing(
        self, store: TicketStore
    ) -> None:
        """No keys, no answer, no error."""
        fill(store, 1)

        assert store.recorded([]) == {}

    def test_recorded_leaves_out_keys_that_do_not_exist(
        self, store: TicketStore
    ) -> None:
        """A key without a number is not there."""
        known, unknown = create_tickets(2)
        write(store, 1, known)

        found = store.recorded([unknown.key, known.key])

        assert found == {known.key: assigned(known, 1)}

    def test_recorded_finds_keys_of_several_projects(self, store: TicketStore) -> None:
        """One lookup serves a whole batch."""
        one = create_ticket("A", "order-7")
        other = create_ticket("B", "order-8")
        write(store, 1, one)
        fill(store, 1, "B")
        write(store, 2, other)

        found = store.recorded({one.key, other.key, RequestKey("B", "order-7")})

        assert found == {one.key: assigned(one, 1), other.key: assigned(other, 2)}

    def test_recorded_finds_more_than_a_hundred_keys(self, store: TicketStore) -> None:
        """More than one read of the store can take."""
        requests = create_tickets(120)
        for start in range(0, 120, 40):
            write(store, start + 1, *requests[start : start + 40])
        missing = [RequestKey("PROJ", f"missing-{number}") for number in range(120)]

        found = store.recorded([*missing, *(each.key for each in requests)])

        assert found == {
            request.key: assigned(request, number)
            for number, request in enumerate(requests, 1)
        }


class TestIsolationBetweenProjects:
    """What one project does never shows in another."""

    def test_write_block_gives_the_same_key_a_number_in_each_project(
        self, store: TicketStore
    ) -> None:
        """A key is a project's own."""
        one = create_ticket("A", "order-7")
        other = create_ticket("B", "order-7")

        answers = [write(store, 1, one), write(store, 1, other)]

        assert answers == [Committed(), Committed()]
        assert store.recorded([one.key, other.key]) == {
            one.key: assigned(one, 1),
            other.key: assigned(other, 1),
        }

    def test_write_block_leaves_other_projects_alone(self, store: TicketStore) -> None:
        """The same number in another project is not taken."""
        fill(store, 5, "A")

        answer = write(store, 1, create_ticket("B"))

        assert answer == Committed()
        assert store.last_number("A") == 5
        assert store.last_number("B") == 1

    @pytest.mark.parametrize(
        "key",
        cases(
            {
                "project": "OTHER",
                "project-and-number": "OTHER#2",
                "ticket-key": "OTHER-2",
                "number": "2",
                "another-key-s-id": "OTHER#order-7",
                "attribute": "project_id",
            }
        ),
    )
    def test_write_block_keeps_a_hostile_key_out_of_other_projects(
        self, store: TicketStore, key: str
    ) -> None:
        """A key that looks like another project's data is only a key."""
        bystander = create_ticket("OTHER", "order-7")
        write(store, 1, bystander)
        hostile = create_ticket("PROJ", key)

        answer = write(store, 1, hostile)

        assert answer == Committed()
        assert store.last_number("OTHER") == 1
        assert store.last_number("PROJ") == 1
        assert store.last_number(f"PROJ#{key}") == 0
        assert store.recorded([bystander.key, hostile.key]) == {
            bystander.key: assigned(bystander, 1),
            hostile.key: assigned(hostile, 1),
        }


class TestRefused:
    """What no transaction can hold is refused, and nothing is tried."""

    @pytest.mark.parametrize("same", [True, False], ids=["same", "different"])
    def test_write_block_refuses_two_equal_keys(
        self,
        store: TicketStore,
        same: bool,  # noqa: FBT001 - a parameter of the test.
    ) -> None:
        """One item cannot be put twice, whether the requests agree or not."""
        one = create_ticket("PROJ", "order-7", title="Door")
        other = one if same else create_ticket("PROJ", "order-7", title="Window")

        answer = write(store, 1, create_ticket(), one, other)

        assert isinstance(answer, Refused)
        assert store.last_number("PROJ") == 0
        assert store.recorded([one.key]) == {}

    def test_write_block_refuses_more_than_a_hundred_actions(
        self, store: TicketStore
    ) -> None:
        """Fifty requests are the most that one transaction takes."""
        answer = write(store, 1, *create_tickets(51))

        assert isinstance(answer, Refused)
        assert store.last_number("PROJ") == 0

    def test_write_block_refuses_a_ticket_that_no_item_can_hold(
        self, dynamodb: Any
    ) -> None:
        """Nothing valid is that large; a contract that grows may allow it."""
        store = empty_store(dynamodb)
        valid = create_ticket()
        large = valid.model_copy(update={"description": "d" * 400 * 1024})

        answer = write(store, 1, create_ticket(), large)

        assert isinstance(answer, Refused) or (
            isinstance(answer, Cancelled) and answer.slots[1].ticket is Reason.INVALID
        )
        assert store.last_number("PROJ") == 0


class TestRetention:
    """Keys that expire are keys until they are gone."""

    def test_write_block_records_keys_that_expire(self, dynamodb: Any) -> None:
        """An expiry changes nothing of what a replay sees."""
        store = empty_store(dynamodb, retention_days=90)
        request = create_ticket()

        answers = [write(store, 1, request), write(store, 2, request)]

        assert answers == [Committed(), Cancelled([replay(request, 1)])]
