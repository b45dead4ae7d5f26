"""A body is one JSON object, or there is one clear reason why not."""

import json
from itertools import product
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from ticket_numbering.errors import InvalidMessageError
from ticket_numbering.json_body import MAX_REPORTED_NAME, json_object, shown

DEEP = 100_000


def refusal(body: str) -> str:
    """Return the reason why a body is refused."""
    with pytest.raises(InvalidMessageError) as caught:
        json_object(body)
    return str(caught.value)


def names(count: int) -> list[str]:
    """Return distinct names."""
    return ["".join(letters) for letters in product(ascii_lowercase, repeat=4)][:count]


class TestObjects:
    """What is one JSON object is read as it is."""

    @pytest.mark.parametrize(
        "body",
        cases(
            {
                "empty": "{}",
                "nested-amid-whitespace": ' \r\n\t{"a": {"b": ["c", null, true]}}\n',
                "odd-names": '{"a.b": "", "": "x"}',
            }
        ),
    )
    def test_json_object_returns_what_json_says(self, body: str) -> None:
        """An object comes back as the standard reader reads it."""
        assert json_object(body) == json.loads(body)

    def test_json_object_accepts_the_same_name_in_different_objects(self) -> None:
        """A name may appear once in every object."""
        body = '{"a": {"a": "x"}, "b": {"a": "y"}}'

        assert json_object(body) == {"a": {"a": "x"}, "b": {"a": "y"}}

    @pytest.mark.timeout(10)
    def test_json_object_reads_many_names_in_no_time(self) -> None:
        """Looking for repeated names stays linear: quadratic would take minutes."""
        many = dict.fromkeys(names(200_000), "")

        assert json_object(json.dumps(many)) == many


class TestRefusals:
    """Anything else is refused with one reason."""

    @pytest.mark.parametrize(
        "body",
        cases(
            {
                "nothing": "",
                "space": " ",
                "line-breaks": "\r\n\t ",
                "unicode-spaces": "\u00a0\u2003",
            }
        ),
    )
    def test_json_object_refuses_an_empty_body(self, body: str) -> None:
        """A body without content is called empty."""
        assert refusal(body) == "body: empty"

    @pytest.mark.parametrize(
        "body",
        cases(
            {
                "array": "[]",
                "array-of-object": '[{"a": "b"}]',
                "integer": "1",
                "float": "-0.5",
                "string": '"text"',
                "null": "null",
                "true": "true",
                "false": "false",
                "nan": "NaN",
                "infinity": "Infinity",
                "minus-infinity": "-Infinity",
                "huge-integer": "9" * 5_000,
                "huge-negative-integer": "-" + "9" * 5_000,
            }
        ),
    )
    def test_json_object_refuses_json_that_is_no_object(self, body: str) -> None:
        """Every other JSON type is refused alike."""
        assert refusal(body) == "body: must be a JSON object"

    @pytest.mark.parametrize(
        "body",
        cases(
            {
                "prose": "create a ticket",
                "open": "{",
                "cut-off": '{"a": "b"',
                "single-quotes": "{'a': 'b'}",
                "trailing-comma": '{"a": "b",}',
                "two": "{} {}",
                "raw-line-break": '{"a": "b\nc"}',
                "raw-nul": '{"a": "\x00"}',
                "bad-escape": '{"a": "\\x"}',
                "leading-zero": '{"a": 01}',
                "nul": "\x00",
                "xml": '<a b="c"/>',
                "form": "a=b&c=d",
            }
        ),
    )
    def test_json_object_refuses_what_is_no_json(self, body: str) -> None:
        """The reason says where the reader stopped, and repeats nothing of the body."""
        assert refusal(body).startswith("body: not JSON: ")
        assert "(char " in refusal(body)

    @pytest.mark.parametrize(
        "body",
        cases(
            {
                "object": "\ufeff{}",
                "alone": "\ufeff",
            }
        ),
    )
    def test_json_object_refuses_a_byte_order_mark(self, body: str) -> None:
        """A byte-order mark is named: it cannot be seen in the body."""
        assert refusal(body) == "body: starts with a byte-order mark"

    @pytest.mark.parametrize(
        "body",
        cases(
            {
                "open-arrays": "[" * DEEP,
                "arrays": "[" * DEEP + "]" * DEEP,
                "objects": '{"a":' * DEEP + "1" + "}" * DEEP,
                "inside-a-field": '{"attributes": {"a": '
                + "[" * DEEP
                + "]" * DEEP
                + "}}",
            }
        ),
    )
    def test_json_object_refuses_deep_nesting(self, body: str) -> None:
        """Nesting cannot exhaust the stack."""
        assert refusal(body) == "body: nested too deeply"


class TestRepeatedNames:
    """A name that appears twice means two requests in one: neither is guessed."""

    @pytest.mark.parametrize(
        "body",
        cases(
            {
                "top-level": '{"a": "x", "a": "y"}',
                "same-value": '{"a": "x", "a": "x"}',
                "escaped": '{"a": "x", "\\u0061": "y"}',
                "nested": '{"b": {"a": "x", "a": "y"}}',
                "in-an-array": '{"b": [{"c": {"a": "x", "a": "y"}}]}',
            }
        ),
    )
    def test_json_object_refuses_a_repeated_name(self, body: str) -> None:
        """The reason names the name."""
        assert refusal(body) == "a: appears more than once"

    @pytest.mark.timeout(10)
    def test_json_object_finds_a_repeated_name_behind_many_others(self) -> None:
        """A repeated name at the end of 40,000 is found in no time."""
        members = [f'"{name}": ""' for name in [*names(40_000), "aaaa"]]

        assert refusal("{" + ",".join(members) + "}") == "aaaa: appears more than once"

    def test_json_object_cuts_a_long_repeated_name(self) -> None:
        """A name cannot make a reason as long as a body."""
        name = "n" * 100_000

        reason = refusal(f'{{"{name}": 1, "{name}": 2}}')

        assert reason == "n" * MAX_REPORTED_NAME + "...: appears more than once"

    @pytest.mark.parametrize(
        "name",
        cases(
            {
                "surrogate": "\\ud800",
                "nul": "\\u0000",
                "line-break": "\\n",
                "escape": "\\u001b[31m",
                "noncharacter": "\\ufffe",
                "separator": "\\u2028",
            }
        ),
    )
    def test_json_object_reports_a_name_that_can_be_shown(self, name: str) -> None:
        """What cannot be written to a log or an attribute does not enter a reason."""
        reason = refusal(f'{{"{name}": 1, "{name}": 2}}')

        assert reason.isprintable()
        assert "appears more than once" in reason

    def test_json_object_names_an_empty_name(self) -> None:
        """A reason never starts with a bare colon."""
        assert not refusal('{"": 1, "": 2}').startswith(":")


class TestShown:
    """Names in reasons have an end, and can be seen."""

    @pytest.mark.parametrize("name", ["a", "a b", "Gr\u00f6\u00dfe", "\U0001f6aa"])
    def test_shown_keeps_a_name_that_can_be_seen(self, name: str) -> None:
        """An ordinary name stays as it is."""
        assert shown(name) == name

    def test_shown_keeps_a_name_of_the_limit(self) -> None:
        """A name that fits is not cut."""
        assert shown("n" * MAX_REPORTED_NAME) == "n" * MAX_REPORTED_NAME

    def test_shown_cuts_a_longer_name(self) -> None:
        """One character more is cut, and the cut shows."""
        cut = shown("n" * (MAX_REPORTED_NAME + 1))

        assert cut == "n" * MAX_REPORTED_NAME + "..."

    @pytest.mark.parametrize(
        ("name", "seen"),
        [("", '""'), ("\x1b[31m", '"\\u001b[31m"'), ("\ud800", '"\\ud800"')],
    )
    def test_shown_spells_out_what_cannot_be_seen(self, name: str, seen: str) -> None:
        """The producer can still tell which of its names is meant."""
        assert shown(name) == seen

    @given(st.text(st.characters(categories=None)))
    def test_shown_makes_any_name_visible(self, name: str) -> None:
        """Whatever a name holds, a line can show it."""
        assert shown(name)
        assert shown(name).isprintable()
        assert shown(name).encode()
