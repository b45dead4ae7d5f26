"""Entries travel in as few calls as fit, and the fate of each one is known."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import plenty
from tests.support.cases import cases
from ticket_numbering.batch_api import (
    CALL_RESERVE_SECONDS,
    Entry,
    attributes_size,
    send_all,
    text_attribute,
)

ENDPOINT = "https://sns.eu-west-1.amazonaws.com"
MAX_BYTES = 100

Batch = list[dict[str, Any]]
Answer = Callable[[Batch], Mapping[str, Any]]


def client_error(code: str, status: int = 400) -> ClientError:
    """Return an error as a service answers it."""
    return ClientError(
        {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]
        "PublishBatch",
    )


def accept(batch: Batch) -> Mapping[str, Any]:
    """Take every entry of the batch."""
    return {"Successful": [{"Id": entry["Id"]} for entry in batch], "Failed": []}


def refuse(error: Exception) -> Answer:
    """Refuse the batch as a whole."""

    def answer(batch: Batch) -> Mapping[str, Any]:
        assert batch
        raise error

    return answer


def lose(*names: str, code: str | None = None) -> Answer:
    """Take every entry but these; a code says why, without one they are missing."""

    def answer(batch: Batch) -> Mapping[str, Any]:
        lost = [entry["Id"] for entry in batch if entry["name"] in names]
        taken = [entry["Id"] for entry in batch if entry["name"] not in names]
        failed = [{"Id": each, "Code": code, "SenderFault": True} for each in lost]
        return {
            "Successful": [{"Id": each} for each in taken],
            "Failed": failed if code else [],
        }

    return answer


@dataclass
class FakeCall:
    """A batch call that answers as told, and accepts everything after that."""

    answers: list[Answer] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)

    def __call__(self, batch: Batch) -> Mapping[str, Any]:
        """Answer one call."""
        self.batches.append(batch)
        answer = self.answers.pop(0) if self.answers else accept
        return answer(batch)

    @property
    def names(self) -> list[list[str]]:
        """Names of the entries of each call."""
        return [[entry["name"] for entry in batch] for batch in self.batches]


def entries(*sizes: int) -> list[Entry]:
    """Return entries of these sizes, named a, b, c, ..."""
    return [
        Entry({"name": chr(ord("a") + position)}, size)
        for position, size in enumerate(sizes)
    ]


class TestPacking:
    """A call holds at most ten entries, and never more bytes than the limit."""

    def test_send_all_calls_nothing_when_there_is_nothing_to_send(self) -> None:
        """An empty batch would be refused."""
        call = FakeCall()

        assert send_all([], call, MAX_BYTES, plenty) == {}
        assert call.batches == []

    @pytest.mark.parametrize(
        ("count", "lengths"),
        [(1, [1]), (10, [10]), (11, [10, 1]), (20, [10, 10]), (25, [10, 10, 5])],
    )
    def test_send_all_packs_ten_entries_into_a_call(
        self, count: int, lengths: list[int]
    ) -> None:
        """Small entries are counted."""
        call = FakeCall()

        failures = send_all(entries(*repeat(1, count)), call, MAX_BYTES, plenty)

        assert failures == {}
        assert [len(batch) for batch in call.batches] == lengths

    @pytest.mark.parametrize(
        ("sizes", "calls"),
        cases(
            {
                "sum-at-the-limit": ([50, 50], [["a", "b"]]),
                "sum-past-the-limit": ([50, 51], [["a"], ["b"]]),
                "each-at-the-limit": ([100, 100], [["a"], ["b"]]),
                "small-after-large": ([90, 20, 80, 1], [["a"], ["b", "c"], ["d"]]),
                "too-large-first": ([101, 1, 1], [["b", "c"]]),
                "too-large-amid": ([50, 500, 50], [["a", "c"]]),
                "too-large-alone": ([101], []),
            }
        ),
    )
    def test_send_all_packs_by_bytes(
        self, sizes: list[int], calls: list[list[str]]
    ) -> None:
        """Entries are summed; one that no call can hold harms no other."""
        call = FakeCall()

        send_all(entries(*sizes), call, MAX_BYTES, plenty)

        assert call.names == calls

    def test_send_all_reports_an_entry_that_no_call_can_hold(self) -> None:
        """The reason tells its size and the limit."""
        failures = send_all(entries(100, 101), FakeCall(), MAX_BYTES, plenty)

        assert failures == {1: "101 bytes with its attributes, at most 100 fit"}

    @given(st.lists(st.integers(min_value=1, max_value=110), max_size=60))
    def test_send_all_sends_every_entry_that_fits_once_and_in_order(
        self, sizes: list[int]
    ) -> None:
        """Whatever the sizes, nothing is lost, repeated or packed beyond a limit."""
        call = FakeCall()
        contents = [Entry({"name": str(at)}, size) for at, size in enumerate(sizes)]

        failures = send_all(contents, call, MAX_BYTES, plenty)

        sent = [[sizes[int(name)] for name in names] for names in call.names]
        take_block = [size for size in sizes if size <= MAX_BYTES]
        assert [size for batch in sent for size in batch] == take_block
        assert len(failures) == len(sizes) - len(take_block)
        assert all(len(batch) <= 10 for batch in sent)
        assert all(sum(batch) <= MAX_BYTES for batch in sent)

    def test_send_all_gives_every_entry_an_id_of_its_own(self) -> None:
        """Ids are distinct within a call and made of characters that are allowed."""
        call = FakeCall()

        send_all(entries(*repeat(1, 12)), call, MAX_BYTES, plenty)

        for batch in call.batches:
            ids = [entry["Id"] for entry in batch]
            assert len(set(ids)) == len(ids)
            assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,80}", each) for each in ids)

    def test_send_all_passes_the_content_on_unchanged(self) -> None:
        """Only the id is added."""
        call = FakeCall()
        content = {"Message": "text", "MessageAttributes": {"a": text_attribute("b")}}

        send_all([Entry(content, 1)], call, MAX_BYTES, plenty)

        assert call.batches == [[{"Id": "0", **content}]]


class TestEveryEntryIsChecked:
    """An answer of 200 proves nothing about a single entry."""

    def test_send_all_reports_a_failed_entry_with_its_code(self) -> None:
        """The failure is told by position, and the neighbours count as sent."""
        call = FakeCall([lose("b", code="InternalError")])

        failures = send_all(entries(1, 1, 1), call, MAX_BYTES, plenty)

        assert failures == {1: "InternalError"}

    def test_send_all_reports_failed_entries_of_a_later_call(self) -> None:
        """Positions count through all calls."""
        call = FakeCall([lose("a", code="Throttled"), lose("l", code="InvalidId")])

        failures = send_all(entries(*repeat(1, 12)), call, MAX_BYTES, plenty)

        assert failures == {0: "Throttled", 11: "InvalidId"}

    def test_send_all_reports_an_entry_that_no_list_names(self) -> None:
        """What is not said to be sent is not sent."""
        call = FakeCall([lose("a", "c")])

        failures = send_all(entries(1, 1, 1), call, MAX_BYTES, plenty)

        assert failures == dict.fromkeys([0, 2], "missing from the answer")

    def test_send_all_reports_every_entry_when_the_answer_has_no_lists(self) -> None:
        """An empty answer is no success."""
        call = FakeCall([lambda _: {}])

        failures = send_all(entries(1, 1), call, MAX_BYTES, plenty)

        assert failures == dict.fromkeys([0, 1], "missing from the answer")

    def test_send_all_does_not_repeat_a_failed_entry(self) -> None:
        """Another try is the queue's business."""
        call = FakeCall([lose("a", "b", code="InternalError")])

        send_all(entries(1, 1), call, MAX_BYTES, plenty)

        assert call.names == [["a", "b"]]


class TestDeadline:
    """A call that does not answer must not cost the report of those before it."""

    def test_send_all_starts_no_call_when_time_has_run_out(self) -> None:
        """What was not sent is reported, so that it comes back."""
        call, left = FakeCall(), iter([10.0, CALL_RESERVE_SECONDS - 0.1])

        failures = send_all(
            entries(*repeat(1, 11)), call, MAX_BYTES, lambda: next(left)
        )

        assert [len(batch) for batch in call.batches] == [10]
        assert list(failures) == [10]

    def test_send_all_tells_of_every_batch_when_time_has_run_out(self) -> None:
        """An entry that nobody reports would count as sent."""
        failures = send_all(entries(*repeat(1, 25)), FakeCall(), MAX_BYTES, lambda: 0.0)

        assert list(failures) == list(range(25))

    def test_send_all_sends_no_entry_alone_when_time_has_run_out(self) -> None:
        """A call that was refused after a long time does not become ten of them."""
        call = FakeCall([refuse(client_error("InvalidParameter"))])
        left = iter([10.0, 10.0, 0.0])

        failures = send_all(entries(1, 1), call, MAX_BYTES, lambda: next(left))

        assert call.names == [["a", "b"], ["a"]]
        assert failures == {1: "the invocation's time ran out"}

    def test_send_all_tells_all_its_failures_when_time_has_run_out(self) -> None:
        """What was refused before stays reported, and each has its own reason."""
        call, left = FakeCall([lose("a", code="InternalError")]), iter([10.0, 0.0])

        failures = send_all(
            entries(*repeat(1, 11)), call, MAX_BYTES, lambda: next(left)
        )

        assert failures == {0: "InternalError", 10: "the invocation's time ran out"}

    def test_send_all_starts_a_call_when_just_the_reserve_is_left(self) -> None:
        """The reserve is what a call needs, so it is enough."""
        call = FakeCall()

        failures = send_all(entries(1), call, MAX_BYTES, lambda: CALL_RESERVE_SECONDS)

        assert failures == {}


class TestOneBadEntryHarmsOnlyItself:
    """A call that is refused as a whole is repeated entry by entry."""

    def test_send_all_finds_the_bad_entry_of_a_refused_call(self) -> None:
        """The neighbours of a bad entry are sent."""
        bad = client_error("InvalidMessageContents")
        call = FakeCall([refuse(bad), accept, refuse(bad), accept])

        failures = send_all(entries(1, 1, 1), call, MAX_BYTES, plenty)

        assert failures == {1: "InvalidMessageContents"}
        assert call.names == [["a", "b", "c"], ["a"], ["b"], ["c"]]

    def test_send_all_checks_the_answers_of_entries_sent_alone(self) -> None:
        """An entry that is sent alone can fail in a 200 as well."""
        refused = refuse(client_error("BatchRequestTooLong"))
        call = FakeCall([refused, accept, lose("b", code="InternalError")])

        failures = send_all(entries(1, 1), call, MAX_BYTES, plenty)

        assert failures == {1: "InternalError"}

    def test_send_all_goes_on_when_an_entry_sent_alone_is_throttled(self) -> None:
        """The throttled entry fails; the next one has its own try."""
        refused = refuse(client_error("InvalidParameter"))
        call = FakeCall([refused, refuse(client_error("Throttled"))])

        failures = send_all(entries(1, 1), call, MAX_BYTES, plenty)

        assert failures == {0: "Throttled"}
        assert call.names == [["a", "b"], ["a"], ["b"]]

    def test_send_all_does_not_repeat_a_lone_entry_that_is_refused(self) -> None:
        """There is nothing smaller to try."""
        call = FakeCall([refuse(client_error("InvalidParameter"))])

        failures = send_all(entries(1), call, MAX_BYTES, plenty)

        assert failures == {0: "InvalidParameter"}
        assert call.names == [["a"]]

    def test_send_all_reports_all_entries_when_all_are_refused(self) -> None:
        """A missing permission fails each entry with its own code."""
        denied = client_error("AuthorizationError", 403)
        call = FakeCall(list(repeat(refuse(denied), 3)))

        failures = send_all(entries(1, 1), call, MAX_BYTES, plenty)

        assert failures == dict.fromkeys([0, 1], "AuthorizationError")


class TestServiceInTrouble:
    """A call that may succeed later is not repeated entry by entry."""

    @pytest.mark.parametrize(
        ("error", "reason"),
        cases(
            {
                "throttled": (client_error("Throttled"), "Throttled"),
                "request-throttled": (
                    client_error("RequestThrottled", 403),
                    "RequestThrottled",
                ),
                "too-many-requests": (client_error("Other", 429), "Other"),
                "failing": (client_error("InternalError", 500), "InternalError"),
                "unavailable": (client_error("503", 503), "503"),
                "dropped": (
                    ConnectionClosedError(endpoint_url=ENDPOINT),
                    "ConnectionClosedError",
                ),
                "no-connection": (
                    EndpointConnectionError(endpoint_url=ENDPOINT),
                    "EndpointConnectionError",
                ),
                "connect-timeout": (
                    ConnectTimeoutError(endpoint_url=ENDPOINT),
                    "ConnectTimeoutError",
                ),
                "read-timeout": (
                    ReadTimeoutError(endpoint_url=ENDPOINT),
                    "ReadTimeoutError",
                ),
            }
        ),
    )
    def test_send_all_fails_the_whole_call_at_once(
        self, error: Exception, reason: str
    ) -> None:
        """Ten more calls would only add to the trouble."""
        call = FakeCall([refuse(error)])

        failures = send_all(entries(1, 1, 1), call, MAX_BYTES, plenty)

        assert failures == dict.fromkeys([0, 1, 2], reason)
        assert call.names == [["a", "b", "c"]]

    def test_send_all_still_tries_the_next_call(self) -> None:
        """One failed call says nothing about the rest."""
        call = FakeCall([refuse(client_error("Throttled"))])

        failures = send_all(entries(60, 60), call, MAX_BYTES, plenty)

        assert failures == {0: "Throttled"}
        assert call.names == [["a"], ["b"]]

    @pytest.mark.parametrize("kind", [ReadTimeoutError, ConnectionClosedError])
    def test_send_all_makes_no_more_calls_when_one_gets_no_answer(
        self, kind: Callable[..., Exception]
    ) -> None:
        """Each could take as long, and the time is not theirs alone."""
        call = FakeCall([accept, refuse(kind(endpoint_url=ENDPOINT))])

        failures = send_all(entries(60, 60, 60, 60), call, MAX_BYTES, plenty)

        assert failures == dict.fromkeys([1, 2, 3], kind.__name__)
        assert call.names == [["a"], ["b"]]

    def test_send_all_lets_a_bug_pass(self) -> None:
        """What no service says is not mistaken for an answer."""
        call = FakeCall([refuse(ZeroDivisionError())])

        with pytest.raises(ZeroDivisionError):
            send_all(entries(1), call, MAX_BYTES, plenty)


class TestAttributesSize:
    """Names, types and values of attributes count against a call's bytes."""

    @pytest.mark.parametrize(
        ("attributes", "size"),
        cases(
            {
                "none": ({}, 0),
                "text": ({"name": text_attribute("value")}, 4 + 6 + 5),
                "utf-8": ({"n\u00e4me": text_attribute("\U0001f6aa")}, 5 + 6 + 4),
                "binary": (
                    {"b": {"DataType": "Binary", "BinaryValue": b"\x00\xff"}},
                    1 + 6 + 2,
                ),
                "two": (
                    {"a": text_attribute("x"), "b": text_attribute("yz")},
                    1 + 6 + 1 + 1 + 6 + 2,
                ),
            }
        ),
    )
    def test_attributes_size_counts_bytes(
        self, attributes: dict[str, dict[str, Any]], size: int
    ) -> None:
        """The documented sum, in UTF-8."""
        assert attributes_size(attributes) == size
