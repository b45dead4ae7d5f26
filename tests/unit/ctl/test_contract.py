"""What ticketctl checks before sending is what the worker checks after receiving."""

import json
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.support.builders import ticket_fields
from tests.support.cases import cases
from ticket_numbering import messages
from ticket_numbering.errors import PoisonMessageError
from ticket_numbering.messages import CreateTicket
from ticketctl.send import contract

STRANGE = (
    "\0\t\n\r\x1b \x7f\x85\xa0\u2003\u2028\u3000\ud800\udc00\ufeff\uffff\U0001f511"
)
SOME_TEXT = st.text(st.sampled_from(f"aA9.#-_~{STRANGE}"), max_size=4)
LONG_TEXT = st.builds(
    lambda letter, length: letter * length,
    st.sampled_from("x \u00e9\n"),
    st.sampled_from([64, 65, 128, 129, 200, 201, 254, 255, 1024, 1025, 65_536, 65_537]),
)
TEXT = SOME_TEXT | LONG_TEXT | st.text(max_size=3)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TEXT
    | st.sampled_from(["low", "medium", "HIGH"])
)
JSON: SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=21) | st.dictionaries(TEXT, inner, max_size=4)
    ),
    max_leaves=25,
)
PLAIN = st.text(st.sampled_from("aZ0._-"), min_size=1, max_size=3)
MOSTLY_PLAIN = st.one_of(PLAIN, PLAIN, PLAIN, TEXT)
VALUES: dict[str, SearchStrategy[Any]] = {
    "priority": st.sampled_from(["low", "medium", "high", "urgent", "HIGH", None]),
    "description": TEXT | st.none(),
    "reporter": MOSTLY_PLAIN | st.none(),
    "labels": st.lists(MOSTLY_PLAIN, max_size=4) | st.lists(PLAIN, max_size=21),
    "attributes": st.dictionaries(MOSTLY_PLAIN, MOSTLY_PLAIN, max_size=4),
}
NAMES = st.sampled_from([*CreateTicket.model_fields, "assignee"]) | SOME_TEXT


def valid_or_nearly() -> SearchStrategy[dict[str, Any]]:
    """Return messages in which some fields hold other things, or are absent."""
    good = st.fixed_dictionaries({}, optional=VALUES)
    odd = st.one_of(
        st.just({}), st.just({}), st.dictionaries(NAMES, TEXT | JSON, max_size=2)
    )
    absent = st.sampled_from(["", "", "", *ticket_fields()])
    return st.builds(
        lambda fields, others, without: {
            name: value
            for name, value in (ticket_fields() | fields | others).items()
            if name != without
        },
        good,
        odd,
        absent,
    )


def written(value: Any, *, ascii_only: bool, before: str = "", after: str = "") -> str:
    """Return JSON, with something around it."""
    return before + json.dumps(value, ensure_ascii=ascii_only) + after


BODIES = st.builds(
    written,
    st.one_of(valid_or_nearly(), valid_or_nearly(), valid_or_nearly(), JSON),
    ascii_only=st.booleans(),
    before=st.sampled_from([*[""] * 8, " ", "\ufeff", "{"]),
    after=st.sampled_from([*[""] * 8, "\n", "}", "\x0b"]),
)


def worker_accepts(body: str) -> bool:
    """Tell whether the worker takes a message."""
    try:
        CreateTicket.parse(body)
    except PoisonMessageError:
        return False
    return True


def with_text(name: str, value: str) -> str:
    """Return a message whose field holds a text."""
    return json.dumps(ticket_fields() | {name: value})


class TestSameVerdictAsTheWorker:
    """What is good here is numbered there, and what is bad here is poison there."""

    @given(BODIES)
    @example(with_text("title", "a\n"))
    @example(with_text("project_id", "PROJ\n"))
    @example(with_text("idempotency_key", "k\n"))
    @example(with_text("description", "\ud83d"))
    @example(json.dumps(ticket_fields(description="\U0001f511" * 65_536)))
    @example('{"title": "a", "title": "b"}')
    @example('{"project_id": "P", "idempotency_key": "k", "title": ' + "9" * 5000 + "}")
    def test_verdict_is_the_workers_when_anything_is_sent(self, body: str) -> None:
        """Valid messages, changed ones, and any JSON."""
        assert (contract.problems_of_body(body) == []) == worker_accepts(body)

    @pytest.mark.parametrize("name", ["title", "description", "project_id"])
    def test_verdict_is_the_workers_when_a_text_holds_any_character(
        self, name: str
    ) -> None:
        """In a schema's pattern and in a validator they are listed differently."""
        schema = json.loads(contract.SCHEMA_PATH.read_bytes())["properties"][name]
        pattern = schema.get("pattern") or schema["anyOf"][0]["pattern"]
        step = 1 if name == "title" else 7
        characters = [chr(each) for each in range(0, 0x3100, step)]
        characters += map(chr, range(0xD7F0, sys.maxunicode, 97 if step == 1 else 997))
        characters += "\ud7ff\ud800\udbff\udc00\udfff\ue000\ufffd\ufffe\uffff\U00010000"

        wrong = [
            each
            for each in characters
            if bool(contract.matches(pattern, each))
            != worker_accepts(with_text(name, each))
        ]

        assert wrong == []

    def test_limit_of_a_body_is_the_workers(self) -> None:
        """The schema tells it in words alone."""
        assert contract.MAX_BODY_BYTES == messages.MAX_BODY_BYTES

    def test_pattern_is_checked_in_no_time_when_a_text_is_long_and_wrong(self) -> None:
        """No pattern tries a long text in more than one way; else this takes hours."""
        body = with_text("title", " " * 100_000 + "a" * 100_000 + "\0")

        assert contract.problems_of_body(body)


class TestClearWords:
    """Each problem names the field, and repeats nothing that was written there."""

    @pytest.mark.parametrize(
        ("fields", "problem"),
        cases(
            {
                "empty title": ({"title": ""}, "title: is empty"),
                "blank title": ({"title": " \u3000"}, "title: is blank"),
                "long title": (
                    {"title": "x" * 201},
                    "title: longer than 200 characters",
                ),
                "line break": (
                    {"title": "a\nb"},
                    "title: character U+000A is not allowed",
                ),
                "number": ({"title": 7}, "title: must be text"),
                "null": ({"labels": None}, "labels: must be a list"),
                "separator": (
                    {"project_id": "A#B"},
                    'project_id: character "#" is not allowed',
                ),
                "priority": (
                    {"priority": "HIGH"},
                    "priority: must be one of low, medium, high, urgent",
                ),
                "null priority": (
                    {"priority": None},
                    "priority: must be one of low, medium, high, urgent",
                ),
                "nullable": ({"reporter": 7}, "reporter: must be text"),
                "item": ({"labels": ["a", ""]}, "labels.1: is empty"),
                "value": ({"attributes": {"a": 1}}, "attributes.a: must be text"),
                "name": (
                    {"attributes": {"\x1b": ""}},
                    "attributes: character U+001B is not allowed",
                ),
                "unknown": ({"colour": 1}, "colour: is no field of a ticket"),
                "rude name": ({"\x1b[2J": 1}, '"\\u001b[2J": is no field of a ticket'),
                "too many": ({"labels": ["a"] * 21}, "labels: more than 20"),
            }
        ),
    )
    def test_problem_is_one_line_when_a_field_is_wrong(
        self, fields: dict[str, Any], problem: str
    ) -> None:
        """And the only one."""
        assert contract.problems(ticket_fields() | fields) == [problem]

    def test_problems_name_every_field_that_is_missing(self) -> None:
        """So that a person mends them at once."""
        found = contract.problems({})

        assert found == [
            "project_id: is missing",
            "idempotency_key: is missing",
            "title: is missing",
        ]

    @pytest.mark.parametrize(
        ("body", "problem"),
        [
            ("", "body: not JSON: Expecting value at column 1"),
            ("[1]", "body: not a JSON object"),
            ("[" * 100_000, "body: not JSON that can be read: nested too deeply"),
            ("\ufeff{}", "body: starts with a byte-order mark"),
            ('{"a": 1, "a": 2}', "a: appears more than once"),
            ("{" + " " * 262_143 + "}", "body: 262145 bytes, at most 262144"),
        ],
    )
    def test_problem_is_about_the_body_when_it_is_no_object(
        self, body: str, problem: str
    ) -> None:
        """What JSON Schema cannot say."""
        [found] = contract.problems_of_body(body)

        assert found.startswith(problem)
