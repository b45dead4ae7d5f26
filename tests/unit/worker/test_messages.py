"""CreateTicket is read or refused with a reason; TicketNumberAssigned never varies."""

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.support.builders import create_ticket, ticket_fields
from tests.support.cases import cases
from ticket_numbering.errors import (
    InvalidMessageError,
    PoisonMessageError,
    TicketTooLargeError,
)
from ticket_numbering.messages import (
    FINGERPRINT_VERSION,
    MAX_BODY_BYTES,
    CreateTicket,
    TicketNumberAssigned,
    ticket_key,
)

SECRET = "s3cret"
ASSIGNED_AT = "2026-11-21T06:00:00.000Z"
MAX_REASON = 2000

FULL: dict[str, Any] = {
    "project_id": "PROJ",
    "idempotency_key": "order-7",
    "title": "Caf\u00e9 door",
    "description": "It does not close.\n\tNot even slowly.",
    "priority": "high",
    "reporter": "ada@example.com",
    "labels": ["door", "ground floor"],
    "attributes": {"floor": "0", "room": "12"},
}

JSON_VALUES = {
    "string": '"s3cret"',
    "integer": "17",
    "float": "1.5",
    "boolean": "true",
    "null": "null",
    "array": '["s3cret"]',
    "object": '{"s3cret": "s3cret"}',
    "nan": "NaN",
    "infinity": "Infinity",
    "minus-infinity": "-Infinity",
    "huge-integer": "9" * 5_000,
    "huge-negative-integer": "-" + "9" * 5_000,
    "beyond-float": "1e400",
}
RIGHT_TYPES = {"labels": {"array"}, "attributes": {"object"}}
RIGHT_TYPES |= {name: {"string", "null"} for name in ("description", "reporter")}
WRONG_TYPES = cases(
    {
        f"{field}-{kind}": (field, value)
        for field in FULL
        for kind, value in JSON_VALUES.items()
        if kind not in RIGHT_TYPES.get(field, {"string"}) or field == "priority"
    }
)


def body(**fields: Any) -> str:
    """Return the body of an otherwise valid message."""
    return json.dumps(ticket_fields() | fields)


def refusal(text: str) -> str:
    """Return the one reason why a body is refused."""
    with pytest.raises(PoisonMessageError) as caught:
        CreateTicket.parse(text)
    return str(caught.value)


def in_ascii(value: object) -> str:
    """Return an id that pytest need not escape: each collection would do it again."""
    return repr(value).encode("ascii", "replace").decode()


def can_be_shown(reason: str) -> bool:
    """Tell whether a log line and a message attribute can hold the reason."""
    clean = re.search(
        "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]", reason
    )
    return clean is None and 0 < len(reason) <= MAX_REASON


def assert_tells_one_problem(reason: str) -> None:
    """Refuse a reason of several problems, or that repeats what the producer wrote."""
    assert SECRET not in reason
    assert ";" not in reason
    assert can_be_shown(reason)


class TestAccepted:
    """What the contract allows is read as it was sent."""

    def test_parse_fills_in_defaults_of_a_minimal_message(self) -> None:
        """Three fields are enough."""
        text = '{"project_id": "PROJ", "idempotency_key": "order-7", "title": "Door"}'

        request = CreateTicket.parse(text)

        assert request.model_dump(mode="json") == {
            "project_id": "PROJ",
            "idempotency_key": "order-7",
            "title": "Door",
            "description": None,
            "priority": "medium",
            "reporter": None,
            "labels": [],
            "attributes": {},
        }

    def test_parse_keeps_every_field_of_a_full_message(self) -> None:
        """Nothing that was sent is lost or changed."""
        request = CreateTicket.parse(json.dumps(FULL))

        assert request.model_dump(mode="json") == FULL
        assert request.key == ("PROJ", "order-7")

    @pytest.mark.parametrize(
        "fields",
        cases(
            {
                "project-shortest": {"project_id": "p"},
                "project-longest": {"project_id": "p" * 64},
                "project-every-kind-of-character": {"project_id": "aZ09._-"},
                "project-of-dots": {"project_id": ".."},
                "project-of-digits": {"project_id": "007"},
                "key-shortest": {"idempotency_key": "!"},
                "key-longest": {"idempotency_key": "~" * 128},
                "key-with-signs": {"idempotency_key": "OTHER#1/\\\"'{}"},
                "title-shortest": {"title": "t"},
                "title-longest": {"title": "t" * 200},
                "title-of-joined-emoji": {"title": "\U0001f469\u200d\U0001f467" * 66},
                "title-with-non-breaking-space": {
                    "title": " Tür\u00a0auf \u0627\u0644\u0628\u0627\u0628 "
                },
                "description-null": {"description": None},
                "description-empty": {"description": ""},
                "description-longest": {"description": "d" * 65_536},
                "description-of-lines": {"description": "a\tb\r\nc\nd"},
                "priority-low": {"priority": "low"},
                "priority-medium": {"priority": "medium"},
                "priority-high": {"priority": "high"},
                "priority-urgent": {"priority": "urgent"},
                "reporter-null": {"reporter": None},
                "reporter-shortest": {"reporter": "r"},
                "reporter-longest": {"reporter": "r" * 254},
                "labels-none": {"labels": []},
                "labels-most": {"labels": ["l"] * 20},
                "label-longest": {"labels": ["l" * 64]},
                "attributes-none": {"attributes": {}},
                "attributes-most": {
                    "attributes": {str(name): "" for name in range(50)}
                },
                "attribute-longest": {"attributes": {"a" * 128: "v" * 1024}},
                "attribute-with-signs": {"attributes": {"#": "line\nbreak"}},
            }
        ),
    )
    def test_parse_accepts_a_field_at_its_bound(self, fields: dict[str, Any]) -> None:
        """A value at the limit is inside it, and is kept as it is."""
        request = CreateTicket.parse(body(**fields))

        assert request.model_dump(mode="json").items() >= fields.items()

    def test_parse_accepts_a_body_of_exactly_the_limit(self) -> None:
        """The limit itself is allowed, and counts bytes."""
        text = body(description="\U0001f6aa")
        longest = text + " " * (MAX_BODY_BYTES - len(text.encode()))

        assert CreateTicket.parse(longest).description == "\U0001f6aa"


class TestRefused:
    """Every other body is poison, with exactly one clear reason."""

    @pytest.mark.parametrize(
        ("text", "reason"),
        cases(
            {
                "empty": ("", "body: empty"),
                "whitespace": (" \n\t ", "body: empty"),
                "prose": (
                    SECRET,
                    "body: not JSON: Expecting value: line 1 column 1 (char 0)",
                ),
                "cut-off": (f'{{"{SECRET}": ', "body: not JSON: "),
                "array": (f'["{SECRET}"]', "body: must be a JSON object"),
                "string": (f'"{SECRET}"', "body: must be a JSON object"),
                "number": ("42", "body: must be a JSON object"),
                "null": ("null", "body: must be a JSON object"),
                "boolean": ("true", "body: must be a JSON object"),
                "nan": ("NaN", "body: must be a JSON object"),
                "minus-infinity": ("-Infinity", "body: must be a JSON object"),
                "huge-integer": ("9" * 5_000, "body: must be a JSON object"),
                "byte-order-mark": (
                    "\ufeff" + body(),
                    "body: starts with a byte-order mark",
                ),
                "nested-deeply": (
                    "[" * 100_000 + "]" * 100_000,
                    "body: nested too deeply",
                ),
                "raw-surrogate": ('{"title": "\ud800', "body: not JSON: "),
            }
        ),
    )
    def test_parse_refuses_a_body_that_is_no_object(
        self, text: str, reason: str
    ) -> None:
        """The reason says what is wrong with the body, without repeating it."""
        assert refusal(text).startswith(reason)
        assert SECRET not in refusal(text)
        assert can_be_shown(refusal(text))

    @pytest.mark.parametrize("field", ["project_id", "idempotency_key", "title"])
    def test_parse_refuses_a_missing_field(self, field: str) -> None:
        """Each required field is asked for by name."""
        fields = ticket_fields()
        del fields[field]

        assert refusal(json.dumps(fields)) == f"{field}: Field required"

    @pytest.mark.parametrize(
        "name",
        ["titel", "Title", "number", "fingerprint", "key", "model_config", "a.b"],
    )
    def test_parse_refuses_an_unknown_field(self, name: str) -> None:
        """A name that we do not know is a mistake, not a note to ignore."""
        reason = refusal(body(**{name: SECRET}))

        assert reason == f"{name}: Extra inputs are not permitted"

    @pytest.mark.parametrize(
        "name",
        cases(
            {
                "empty": "",
                "nul": "\x00",
                "line-break": "a\nb",
                "escape": "\x1b[31m",
                "surrogate": "\ud800",
                "surrogates-swapped": "\udc00\ud800",
                "noncharacter": "\ufffe",
                "line-separator": "\u2028",
                "endless": "n" * 100_000,
            }
        ),
    )
    def test_parse_refuses_an_unknown_field_of_an_odd_name(self, name: str) -> None:
        """Even such a name leaves a reason that a log line can hold."""
        reason = refusal(body(**{name: SECRET}))

        assert can_be_shown(reason)
        assert not reason.startswith(":")
        assert SECRET not in reason
        assert ";" not in reason

    @pytest.mark.parametrize("title", [" ", "a\nb"], ids=["blank", "two-lines"])
    def test_parse_says_what_a_title_must_be(self, title: str) -> None:
        """The producer reads what is asked for, not only what is wrong."""
        reason = refusal(body(title=title))

        assert reason == "title: must be one line that is not blank"

    def test_parse_names_the_body_when_a_name_is_no_text(self) -> None:
        """There is no field to name, so the reason names what holds it."""
        reason = refusal(body(**{"\ud800": SECRET}))

        assert reason.startswith("body: Input should be a valid string")

    @pytest.mark.parametrize(("field", "value"), WRONG_TYPES)
    def test_parse_refuses_a_field_of_the_wrong_type(
        self, field: str, value: str
    ) -> None:
        """No value is converted: 17 is not "17", and a list is not an object."""
        fields = ticket_fields()
        fields.pop(field, None)
        others = json.dumps(fields)[:-1]

        reason = refusal(f'{others}, "{field}": {value}}}')

        assert re.match(rf"{field}: \w", reason)
        assert_tells_one_problem(reason)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("project_id", ""),
            ("project_id", " "),
            ("project_id", "s3cret#1"),
            ("project_id", "s3cret/1"),
            ("project_id", "s3cret 1"),
            ("project_id", "s3cret\n"),
            ("project_id", "s3cret\r\n"),
            ("project_id", "\ns3cret"),
            ("project_id", "s3cret\u0663"),
            ("project_id", "s3cret\uff11"),
            ("project_id", "s3cret\uff21"),
            ("project_id", "s3cret\u0430"),
            ("project_id", "s3cret\u00e9"),
            ("project_id", "s3cret\u200b"),
            ("project_id", "s3cret\x00"),
            ("project_id", "s3cret\ud800"),
            ("project_id", "p" * 65),
            ("idempotency_key", ""),
            ("idempotency_key", " "),
            ("idempotency_key", "s3cret 1"),
            ("idempotency_key", "s3cret\n"),
            ("idempotency_key", "s3cret\t"),
            ("idempotency_key", "s3cret\x7f"),
            ("idempotency_key", "s3cret\x00"),
            ("idempotency_key", "s3cret\u00e9"),
            ("idempotency_key", "s3cret\ud800"),
            ("idempotency_key", "k" * 129),
            ("title", ""),
            ("title", " \u00a0"),
            ("title", "s3cret\n"),
            ("title", "s3cret\r"),
            ("title", "s3cret\tx"),
            ("title", "s3cret\x00"),
            ("title", "s3cret\x1b[31m"),
            ("title", "s3cret\x7f"),
            ("title", "s3cret\x85"),
            ("title", "s3cret\u2028"),
            ("title", "s3cret\ufffe"),
            ("title", "s3cret\ud800"),
            ("title", "\udc69\ud83d"),
            ("title", "t" * 201),
            ("title", "\U0001f6aa" * 201),
            ("description", "s3cret\x00"),
            ("description", "s3cret\x0b"),
            ("description", "s3cret\uffff"),
            ("description", "s3cret\ud800"),
            ("description", "d" * 65_537),
            ("priority", ""),
            ("priority", "s3cret"),
            ("priority", "High"),
            ("priority", "high\n"),
            ("reporter", ""),
            ("reporter", "\t"),
            ("reporter", "s3cret\n"),
            ("reporter", "s3cret\x00"),
            ("reporter", "s3cret\ud800"),
            ("reporter", "r" * 255),
            ("labels", SECRET),
            ("labels", ["l"] * 21),
            ("labels", ["l"] * 40_000),
            ("attributes", {str(name): "" for name in range(51)}),
            ("attributes", [["s3cret", "s3cret"]]),
        ],
    )
    def test_parse_refuses_a_bad_value(self, field: str, value: Any) -> None:
        """The one reason names the field and does not repeat the value."""
        reason = refusal(body(**{field: value}))

        assert re.match(rf"{field}: \w", reason)
        assert_tells_one_problem(reason)

    @pytest.mark.parametrize(
        "label",
        cases(
            {
                "empty": "",
                "blank": "  ",
                "line-break": "s3cret\n",
                "nul": "s3cret\x00",
                "surrogate": "s3cret\ud800",
                "too-long": "l" * 65,
                "integer": 1,
                "null": None,
                "boolean": True,
                "array": ["s3cret"],
                "object": {},
            }
        ),
    )
    def test_parse_refuses_a_bad_label(self, label: Any) -> None:
        """The reason names the one label that is wrong."""
        reason = refusal(body(labels=["fine", label]))

        assert re.match(r"labels\.1: \w", reason)
        assert_tells_one_problem(reason)

    @pytest.mark.parametrize(
        "value",
        cases(
            {
                "nul": "s3cret\x00",
                "surrogate": "s3cret\ud800",
                "too-long": "v" * 1025,
                "integer": 1,
                "null": None,
                "array": ["s3cret"],
                "object": {"s3cret": "s3cret"},
            }
        ),
    )
    def test_parse_refuses_a_bad_attribute(self, value: Any) -> None:
        """The reason names the attribute and does not repeat its value."""
        reason = refusal(body(attributes={"fine": "", "floor": value}))

        assert re.match(r"attributes\.floor: \w", reason)
        assert_tells_one_problem(reason)

    @pytest.mark.parametrize(
        "name",
        cases(
            {
                "empty": "",
                "blank": " ",
                "line-break": "a\nb",
                "nul": "a\x00",
                "escape": "a\x1b[31m",
                "surrogate": "a\ud800",
                "noncharacter": "a\ufffe",
                "line-separator": "a\u2028",
                "too-long": "a" * 129,
                "endless": "a" * 100_000,
            }
        ),
    )
    def test_parse_refuses_a_bad_attribute_name(self, name: str) -> None:
        """Even such a name leaves a reason that a log line can hold."""
        reason = refusal(body(attributes={name: SECRET}))

        assert reason.startswith("attributes.")
        assert_tells_one_problem(reason)

    @pytest.mark.parametrize(
        ("field", "value", "limit"),
        cases(
            {
                "project": ("project_id", "p" * 65, "at most 64 characters"),
                "key": ("idempotency_key", "k" * 129, "at most 128 characters"),
                "title": ("title", "t" * 201, "at most 200 characters"),
                "description": (
                    "description",
                    "d" * 65_537,
                    "at most 65536 characters",
                ),
                "reporter": ("reporter", "r" * 255, "at most 254 characters"),
                "label": ("labels", ["l" * 65], "at most 64 characters"),
                "labels": ("labels", ["l"] * 21, "at most 20 items"),
                "attribute": (
                    "attributes",
                    {"a": "v" * 1025},
                    "at most 1024 characters",
                ),
                "attribute-name": (
                    "attributes",
                    {"a" * 129: "v"},
                    "at most 128 characters",
                ),
                "attributes": (
                    "attributes",
                    {str(name): "" for name in range(51)},
                    "at most 50 items",
                ),
            }
        ),
    )
    def test_parse_names_the_limit_that_a_value_exceeds(
        self, field: str, value: Any, limit: str
    ) -> None:
        """A text is counted in characters, a list in items."""
        assert limit in refusal(body(**{field: value}))

    @pytest.mark.parametrize("value", ['"door"', '{"0": "door"}', "1", "null"])
    def test_parse_asks_for_labels_in_the_words_of_json(self, value: str) -> None:
        """A producer need not know what a tuple is."""
        reason = refusal(f'{body()[:-1]}, "labels": {value}}}')

        assert re.fullmatch("labels: .*(array|list).*", reason)

    @pytest.mark.parametrize(
        ("text", "name"),
        cases(
            {
                "top-level": (body()[:-1] + ', "title": "again"}', "title"),
                "nested": (body()[:-1] + ', "attributes": {"a": "x", "a": "y"}}', "a"),
            }
        ),
    )
    def test_parse_refuses_a_repeated_name(self, text: str, name: str) -> None:
        """Of two titles neither is chosen."""
        assert refusal(text) == f"{name}: appears more than once"

    def test_parse_refuses_deep_nesting_inside_a_field(self) -> None:
        """Nesting below an otherwise valid message is found as well."""
        deep = "[" * 100_000 + "]" * 100_000

        reason = refusal(f'{body()[:-1]}, "attributes": {{"a": {deep}}}}}')

        assert reason == "body: nested too deeply"

    @pytest.mark.timeout(10)
    def test_parse_counts_the_problems_that_it_does_not_list(self) -> None:
        """A body with thousands of problems has a reason of one line all the same."""
        unknown = dict.fromkeys((f"{number:05}" for number in range(20_000)), 1)

        reason = refusal(json.dumps(unknown))

        assert reason == (
            "project_id: Field required; idempotency_key: Field required; "
            "title: Field required; and 20000 more"
        )

    def test_parse_keeps_the_reason_short_when_every_name_is_odd_and_endless(
        self,
    ) -> None:
        """Names are cut before they are made visible."""
        odd = {letter + "\x00" * 5_000: "" for letter in "abcd"}

        reason = refusal(json.dumps(ticket_fields() | odd, ensure_ascii=False))

        assert can_be_shown(reason)
        assert reason.endswith("; and 1 more")

    def test_parse_lists_several_problems_when_there_are_several(self) -> None:
        """A producer learns of two mistakes at once."""
        reason = refusal(body(priority="High", title=1))

        assert reason.startswith("title: Input should be a valid string; priority: ")


class TestTooLarge:
    """A body over 256 KiB is poison whatever it holds."""

    @pytest.mark.parametrize(
        "text",
        cases(
            {
                "valid-but-for-padding": body().ljust(MAX_BODY_BYTES + 1),
                "whitespace": " " * (MAX_BODY_BYTES + 1),
                "not-json": "{" * (MAX_BODY_BYTES + 1),
                "surrogates": "\ud800" * (MAX_BODY_BYTES // 3 + 1),
            }
        ),
    )
    def test_parse_refuses_one_byte_more_than_the_limit(self, text: str) -> None:
        """The size is looked at first, and the reason tells it."""
        size = len(text.encode(errors="surrogatepass"))

        with pytest.raises(TicketTooLargeError) as caught:
            CreateTicket.parse(text)

        assert str(caught.value) == f"body: {size} bytes, at most 262144 are allowed"

    def test_parse_counts_bytes_not_characters(self) -> None:
        """Four-byte characters reach the limit with a quarter of the characters."""
        doors = "\U0001f6aa" * 65_536
        text = json.dumps(ticket_fields(description=doors), ensure_ascii=False)

        assert len(text) < MAX_BODY_BYTES / 3
        assert refusal(text).startswith("body: 262")

    def test_parse_refuses_the_largest_message_that_sqs_carries(self) -> None:
        """A message of 1 MiB is refused like any other."""
        assert refusal("x" * 1024 * 1024).startswith("body: 1048576 bytes")


class TestTotal:
    """Whatever arrives becomes a request or a poison message, never anything else."""

    @given(st.text(st.characters(categories=None)))
    def test_parse_answers_any_text(self, text: str) -> None:
        """Any text at all is read or refused with a reason."""
        _read_or_refused(text)

    @given(
        st.dictionaries(
            st.text(st.characters(categories=None)) | st.sampled_from([*FULL]),
            st.recursive(
                st.none()
                | st.booleans()
                | st.integers()
                | st.floats()
                | st.text(st.characters(categories=None)),
                lambda inner: (
                    st.lists(inner)
                    | st.dictionaries(st.text(st.characters(categories=None)), inner)
                ),
                max_leaves=8,
            ),
        ),
        st.booleans(),
        st.booleans(),
    )
    def test_parse_answers_any_object(
        self,
        fields: dict[str, Any],
        complete: bool,  # noqa: FBT001 - drawn, not called.
        escaped: bool,  # noqa: FBT001
    ) -> None:
        """Any JSON object at all is read or refused with a reason."""
        if complete:
            fields = ticket_fields() | fields

        _read_or_refused(json.dumps(fields, ensure_ascii=escaped))


class TestFingerprint:
    """Equal requests have equal fingerprints, in every version of the contract."""

    def test_fingerprint_of_a_known_message_never_changes(self) -> None:
        """Recorded fingerprints outlive the code: another value needs a new version."""
        request = CreateTicket.parse(json.dumps(FULL))

        assert request.fingerprint == (
            "v1:a51380186d758a358b04c64ac03fc8866b13351d65de849ed5f532189efd244e"
        )

    def test_fingerprint_of_a_known_minimal_message_never_changes(self) -> None:
        """The defaults take no part in it."""
        request = create_ticket("PROJ", "order-7", title="Door")

        assert request.fingerprint == (
            "v1:dc3d12a4e27e937058624aa1f8ab42b3766e92cb17cd590dbe6d365f943374c2"
        )

    def test_fingerprint_stays_true_because_a_request_cannot_be_changed(self) -> None:
        """It is computed once, so what it was made from must not change."""
        request: Any = create_ticket()

        with pytest.raises(ValidationError, match="frozen"):
            request.title = "Another"

    def test_fingerprint_starts_with_its_version(self) -> None:
        """A later algorithm can tell which one made a recorded fingerprint."""
        assert re.fullmatch(
            rf"{FINGERPRINT_VERSION}:[0-9a-f]{{64}}", create_ticket().fingerprint
        )

    @pytest.mark.parametrize(
        "text",
        cases(
            {
                "fields-reordered": json.dumps(dict(reversed(FULL.items()))),
                "attributes-reordered": json.dumps(
                    FULL | {"attributes": {"room": "12", "floor": "0"}}
                ),
                "whitespace": json.dumps(FULL, indent=4) + "\r\n",
                "not-escaped": json.dumps(FULL, ensure_ascii=False),
                "escaped-more": json.dumps(FULL).replace("door", "d\\u006f\\u006fr"),
            }
        ),
    )
    def test_fingerprint_is_the_same_when_only_the_spelling_differs(
        self, text: str
    ) -> None:
        """A producer may serialize the same request differently the second time."""
        original = CreateTicket.parse(json.dumps(FULL))

        assert CreateTicket.parse(text).fingerprint == original.fingerprint

    @pytest.mark.parametrize(
        ("field", "default"),
        [
            ("description", None),
            ("priority", "medium"),
            ("reporter", None),
            ("labels", []),
            ("attributes", {}),
        ],
    )
    def test_fingerprint_is_the_same_when_a_default_is_explicit(
        self, field: str, default: Any
    ) -> None:
        """To say a default is to say nothing."""
        silent = create_ticket("PROJ", "order-7")
        explicit = create_ticket("PROJ", "order-7", **{field: default})

        assert explicit.fingerprint == silent.fingerprint

    @pytest.mark.parametrize(
        "change",
        [
            {"project_id": "OTHER"},
            {"idempotency_key": "order-8"},
            {"title": "Cafe door"},
            {"title": "Cafe\u0301 door"},
            {"title": "Caf\u00e9 door "},
            {"description": "It does not close."},
            {"description": f" {FULL['description']}"},
            {"description": f"{FULL['description']}\n"},
            {"description": ""},
            {"description": None},
            {"priority": "low"},
            {"priority": "medium"},
            {"reporter": "Ada@example.com"},
            {"reporter": None},
            {"labels": ["ground floor", "door"]},
            {"labels": ["door"]},
            {"labels": ["door", "ground", "floor"]},
            {"labels": []},
            {"attributes": {"floor": "0", "room": "13"}},
            {"attributes": {"floor": "12", "room": "0"}},
            {"attributes": {"floor": "0"}},
            {"attributes": {}},
        ],
        ids=in_ascii,
    )
    def test_fingerprint_differs_when_the_request_does(
        self, change: dict[str, Any]
    ) -> None:
        """Every field takes part."""
        original = CreateTicket.parse(json.dumps(FULL))
        changed = CreateTicket.parse(json.dumps(FULL | change))

        assert changed.fingerprint != original.fingerprint

    def test_request_matches_no_other_fingerprint_when_the_version_is_its_own(
        self,
    ) -> None:
        """Only another ticket has another one."""
        one, other = create_ticket(title="Door"), create_ticket(title="Window")

        assert one.matches(one.fingerprint)
        assert not one.matches(other.fingerprint)

    def test_fingerprint_differs_when_a_text_moves_to_another_field(self) -> None:
        """Fields cannot run into each other."""
        one = create_ticket("PROJ", "order-7", title="Door", description="Ada")
        other = create_ticket("PROJ", "order-7", title="Door", reporter="Ada")

        assert one.fingerprint != other.fingerprint

    def test_fingerprint_is_the_same_when_the_contract_gains_a_default(self) -> None:
        """Messages of last year still match after the contract has grown."""

        class GrownCreateTicket(CreateTicket):
            due: str | None = None
            watchers: tuple[str, ...] = ()

        grown = GrownCreateTicket.parse(json.dumps(FULL))

        assert isinstance(grown, GrownCreateTicket)
        assert grown.fingerprint == CreateTicket.parse(json.dumps(FULL)).fingerprint


class TestAnnouncement:
    """The event is a CloudEvent that is the same every time it is sent."""

    def test_event_is_a_cloudevent_of_documented_content(self) -> None:
        """Subscribers rely on every one of these names."""
        request = CreateTicket.parse(json.dumps(FULL))

        event = TicketNumberAssigned.of(request, 42, ASSIGNED_AT)

        assert json.loads(event.model_dump_json()) == {
            "specversion": "1.0",
            "id": "PROJ-42",
            "source": "/ticket-numbering",
            "type": "ticket-numbering.TicketNumberAssigned.v1",
            "subject": "PROJ-42",
            "time": ASSIGNED_AT,
            "datacontenttype": "application/json",
            "data": {
                "project_id": "PROJ",
                "number": 42,
                "ticket_key": "PROJ-42",
                "idempotency_key": "order-7",
                "title": "Caf\u00e9 door",
                "priority": "high",
                "assigned_at": ASSIGNED_AT,
            },
        }

    def test_event_is_identified_by_its_ticket_key(self) -> None:
        """The id needs no record of its own: it follows from the number."""
        event = TicketNumberAssigned.of(create_ticket("A-1"), 7, ASSIGNED_AT)

        assert event.id == event.subject == event.data.ticket_key == "A-1-7"
        assert datetime.fromisoformat(event.time).tzinfo == UTC

    def test_event_is_byte_identical_when_replayed(self) -> None:
        """A second delivery, serialized differently, announces the very same bytes."""
        again = dict(reversed(FULL.items()))

        first = TicketNumberAssigned.of(create_ticket(**FULL), 42, ASSIGNED_AT)
        second = TicketNumberAssigned.of(create_ticket(**again), 42, ASSIGNED_AT)

        assert first.model_dump_json().encode() == second.model_dump_json().encode()

    @pytest.mark.parametrize("name", ["id", "time", "data"])
    def test_event_cannot_be_changed(self, name: str) -> None:
        """What one subscriber was told is what all are told."""
        event = TicketNumberAssigned.of(create_ticket(), 1, ASSIGNED_AT)

        with pytest.raises(ValidationError, match="frozen"):
            setattr(event, name, None)

    @pytest.mark.parametrize("name", ["number", "title"])
    def test_data_of_an_event_cannot_be_changed(self, name: str) -> None:
        """The event's id and its number belong together."""
        event = TicketNumberAssigned.of(create_ticket(), 1, ASSIGNED_AT)

        with pytest.raises(ValidationError, match="frozen"):
            setattr(event.data, name, None)

    def test_event_holds_nothing_but_what_it_announces(self) -> None:
        """What people write into a ticket does not leave the system."""
        request = create_ticket(
            description=SECRET,
            reporter=SECRET,
            labels=[SECRET],
            attributes={SECRET: SECRET},
        )

        event = TicketNumberAssigned.of(request, 1, ASSIGNED_AT)

        assert SECRET not in event.model_dump_json()

    @pytest.mark.parametrize("number", [0, -1])
    def test_event_refuses_a_number_below_one(self, number: int) -> None:
        """Numbers start at one."""
        with pytest.raises(ValidationError, match=r"data\.number|^1 validation error"):
            TicketNumberAssigned.of(create_ticket(), number, ASSIGNED_AT)

    def test_ticket_key_tells_projects_apart_when_their_ids_hold_numbers(self) -> None:
        """The last hyphen separates the number: no two tickets share a key."""
        projects, numbers = ["A", "A-1", "A-1-1", "A-11", "A1"], range(1, 130)

        keys = {ticket_key(project, n) for project in projects for n in numbers}

        assert len(keys) == len(projects) * len(numbers)


def _read_or_refused(text: str) -> None:
    try:
        request = CreateTicket.parse(text)
    except InvalidMessageError as error:
        reason = str(error)
    else:
        reason = "none"
        assert CreateTicket.parse(request.model_dump_json()) == request
    assert can_be_shown(reason)
