"""Entries travel in as few calls as fit, and the fate of each one is known."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

from tests.support.builders import plenty
from tests.support.canned_aws import client_error
from tests.support.cases import cases
from ticket_numbering.adapters.aws_errors import NO_CODE
from ticket_numbering.adapters.batch_api import (
    CALL_RESERVE_SECONDS,
    Entry,
    attributes_size,
    send_all,
)
from ticket_numbering.contract.attributes import is_fifo, text_attribute

ENDPOINT = "https://sns.eu-west-1.amazonaws.com"
MAX_BYTES = 100
TOO_LATE = "the invocation's time ran out"
MISSING = "missing from the answer"

Batch = list[dict[str, Any]]
Answer = Callable[[Batch], Mapping[str, Any]]


def refuse(error: Exception | str) -> Answer:
    """Refuse the batch as a whole; a text is the code of a lasting error."""

    def answer(_: Batch) -> Mapping[str, Any]:
        raise client_error(error) if isinstance(error, str) else error

    return answer


def lose(*names: str, code: str | None = None) -> Answer:
    """Take every entry but these; a code says why, without one they are missing."""

    def answer(batch: Batch) -> Mapping[str, Any]:
        lost = [entry["Id"] for entry in batch if entry["name"] in names]
        taken = [{"Id": entry["Id"]} for entry in batch if entry["name"] not in names]
        failed = [{"Id": name, "Code": code, "SenderFault": True} for name in lost]
        return {"Successful": taken, "Failed": failed if code else []}

    return answer


@dataclass
class FakeCall:
    """A batch call with prepared answers, which accepts everything after them."""

    answers: list[Answer] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)

    def __call__(self, batch: Batch) -> Mapping[str, Any]:
        """Answer one call."""
        self.batches.append(batch)
        answer = self.answers.pop(0) if self.answers else lose()
        return answer(batch)

    @property
    def names(self) -> list[str]:
        """Names of the entries of each call."""
        return ["".join(entry["name"] for entry in batch) for batch in self.batches]


def entries(*sizes: int) -> list[Entry]:
    """Return entries of these sizes, named a, b, c, ..."""
    return [
        Entry({"name": chr(ord("a") + position)}, size)
        for position, size in enumerate(sizes)
    ]


def small(count: int) -> list[Entry]:
    """Return entries of one byte."""
    return entries(*repeat(1, count))


class TestPacking:
    """A call holds at most ten entries, and never more bytes than the limit."""

    @pytest.mark.parametrize(
        ("sizes", "calls"),
        cases(
            {
                "nothing": ([], []),
                "ten": ([1] * 10, ["abcdefghij"]),
                "more-than-ten": ([1] * 21, ["abcdefghij", "klmnopqrst", "u"]),
                "sum-at-the-limit": ([50, 50], ["ab"]),
                "sum-past-the-limit": ([50, 51], ["a", "b"]),
                "each-at-the-limit": ([100, 100], ["a", "b"]),
                "small-after-large": ([90, 20, 80, 1], ["a", "bc", "d"]),
                "too-large-first": ([101, 1, 1], ["bc"]),
                "too-large-amid": ([50, 500, 50], ["ac"]),
                "too-large-alone": ([101], []),
            }
        ),
    )
    def test_send_all_packs_by_count_and_bytes(
        self, sizes: list[int], calls: list[str]
    ) -> None:
        """An entry that no call can hold harms no other."""
        call = FakeCall()

        failures = send_all(entries(*sizes), call, MAX_BYTES, plenty)

        assert call.names == calls
        assert failures == {
            position: f"{size} bytes with its attributes, at most 100 fit"
            for position, size in enumerate(sizes)
            if size > MAX_BYTES
        }

    def test_send_all_adds_nothing_but_an_id_to_the_content(self) -> None:
        call = FakeCall()
        content = {"name": "a", "MessageAttributes": {"a": text_attribute("b")}}

        send_all([Entry(content, 1)] * 2, call, MAX_BYTES, plenty)

        assert call.batches == [[{"Id": "0", **content}, {"Id": "1", **content}]]


RUNS = {
    "one-failed": (
        small(3),
        [lose("b", code="InternalError")],
        {1: "InternalError"},
        ["abc"],
    ),
    "failed-in-a-later-call": (
        small(12),
        [lose("a", code="Throttled"), lose("l", code="InvalidId")],
        {0: "Throttled", 11: "InvalidId"},
        ["abcdefghij", "kl"],
    ),
    "not-named": (small(3), [lose("a", "c")], {0: MISSING, 2: MISSING}, ["abc"]),
    "no-code": (small(1), [lambda _: {"Failed": [{"Id": "0"}]}], {0: NO_CODE}, ["a"]),
    "no-lists": (small(2), [lambda _: {}], {0: MISSING, 1: MISSING}, ["ab"]),
    # Each alone would be refused, too.
    "right-missing": (
        small(2),
        [refuse("AccessDenied")],
        {0: "AccessDenied", 1: "AccessDenied"},
        ["ab"],
    ),
    "throttled": (
        entries(60, 20, 60),
        [refuse("Throttled")],
        {0: "Throttled", 1: "Throttled"},
        ["ab", "c"],
    ),
    "tried-alone": (
        small(4),
        [
            *(refuse("Bad"), lose(), lose("b", code="InternalError")),
            *(refuse(client_error("Throttled", 429)), refuse("Bad")),
        ],
        {1: "InternalError", 2: "Throttled", 3: "Bad"},
        ["abcd", *"abcd"],
    ),
    "lone-refused": (small(1), [refuse("Bad")], {0: "Bad"}, ["a"]),
    # Each more call could take as long, and the time is not theirs alone.
    "unanswered": (
        entries(60, 60, 60, 60),
        [lose("a"), refuse(ReadTimeoutError(endpoint_url=ENDPOINT))],
        {0: MISSING} | dict.fromkeys([1, 2, 3], "ReadTimeoutError"),
        ["a", "b"],
    ),
    "unreachable": (
        small(1),
        [refuse(EndpointConnectionError(endpoint_url=ENDPOINT))],
        {0: "EndpointConnectionError"},
        ["a"],
    ),
}


class TestEveryEntryIsChecked:
    """An answer of 200 proves nothing of an entry; one bad entry harms only itself."""

    @pytest.mark.parametrize(("sent", "answers", "failures", "calls"), cases(RUNS))
    def test_send_all_tells_what_was_not_sent_and_why(
        self,
        sent: list[Entry],
        answers: list[Answer],
        failures: dict[int, str],
        calls: list[str],
    ) -> None:
        call = FakeCall(list(answers))

        assert send_all(sent, call, MAX_BYTES, plenty) == failures
        assert call.names == calls

    def test_send_all_lets_a_bug_pass(self) -> None:
        with pytest.raises(ZeroDivisionError):
            send_all(small(1), FakeCall([refuse(ZeroDivisionError())]), 100, plenty)


class TestDeadline:
    """A call that does not answer must not cost the report of those before it."""

    @pytest.mark.parametrize(
        ("answers", "left", "failures", "calls"),
        cases(
            {
                "just-the-reserve": ([], [10.0, CALL_RESERVE_SECONDS], {}, 2),
                "later-call": (
                    [lose("a", code="Bad")],
                    [10.0, CALL_RESERVE_SECONDS - 0.1],
                    {0: "Bad", 10: TOO_LATE, 11: TOO_LATE},
                    1,
                ),
                "every-call": ([], [0.0, 0.0], dict.fromkeys(range(12), TOO_LATE), 0),
                "entries-alone": (
                    [refuse("Bad")],
                    [10.0, 10.0, *[0.0] * 10],
                    dict.fromkeys(range(1, 12), TOO_LATE),
                    2,
                ),
            }
        ),
    )
    def test_send_all_starts_no_call_when_time_has_run_out(
        self,
        answers: list[Answer],
        left: list[float],
        failures: dict[int, str],
        calls: int,
    ) -> None:
        """An entry that is not reported would count as sent."""
        call, clock = FakeCall(list(answers)), iter(left)

        reported = send_all(small(12), call, MAX_BYTES, lambda: next(clock))

        assert reported == failures
        assert len(call.batches) == calls

    def test_send_all_goes_by_the_reserve_that_it_is_given(self) -> None:
        failures = send_all(small(1), FakeCall(), MAX_BYTES, lambda: 8.9, 9.0)

        assert failures == {0: TOO_LATE}


@pytest.mark.parametrize(
    ("attributes", "size"),
    cases(
        {
            "none": ({}, 0),
            "utf-8": ({"n\u00e4me": text_attribute("\U0001f6aa")}, 5 + 6 + 4),
            "binary": (
                {"b": {"DataType": "Binary", "BinaryValue": b"\x00\xff"}},
                1 + 6 + 2,
            ),
            "two": (
                {"a": text_attribute("x"), "b": text_attribute("yz")},
                1 + 6 + 1 + 1 + 6 + 2,
            ),
            "surrogate": ({"a": text_attribute("\ud800")}, 1 + 6 + 3),
        }
    ),
)
def test_attributes_size_counts_bytes_of_names_types_and_values(
    attributes: dict[str, dict[str, Any]], size: int
) -> None:
    assert attributes_size(attributes) == size


@pytest.mark.parametrize(("name", "fifo"), [("a.fifo", True), ("a.fifo.b", False)])
def test_queue_is_fifo_by_the_suffix_of_its_name(name: str, *, fifo: bool) -> None:
    assert is_fifo(name) is fifo
