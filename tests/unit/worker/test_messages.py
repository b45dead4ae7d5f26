"""CreateTicket is read or refused with a reason; TicketNumberAssigned never varies."""

import json
import re
from math import nan
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.builders import (
    assigned_event,
    create_ticket,
    ticket_fields,
)
from tests.support.cases import cases, plain_id
from tests.support.sample_messages import DEFAULTS, DOOR, FULL, SAMPLES, SECRET, holding
from ticket_numbering.contract.dynamodb_items import ERASED
from ticket_numbering.contract.errors import PoisonMessageError, TicketTooLargeError
from ticket_numbering.contract.events import AssignedTicket
from ticket_numbering.contract.json_body import MAX_NAMES
from ticket_numbering.contract.messages import (
    MAX_BODY_BYTES,
    CreateTicket,
    RequestKey,
)

MAX_REASON = 2000

ODD_NAMES = [
    *("", "\x00", "a\nb", "\x1b[31m", "\ud800", "\udc00\ud800", "\ufffe", "\u2028"),
    *(" ", "a" * 100_000),
]

REQUIRED = {name: FULL[name] for name in FULL if name not in DEFAULTS}

OF_EVERY_TYPE = [SECRET, 17, 1.5, nan, True, None, [SECRET], {SECRET: SECRET}]


def body(**fields: Any) -> str:
    """Return the body of an otherwise valid message."""
    return json.dumps(ticket_fields() | fields)


def refusal(text: str) -> str:
    """Return the one reason why a body is refused; a log line can hold it."""
    with pytest.raises(PoisonMessageError) as caught:
        CreateTicket.parse(text)
    reason = str(caught.value)
    assert 0 < len(reason) <= MAX_REASON
    assert not re.search(
        "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]", reason
    )
    assert SECRET not in reason
    return reason


class TestAccepted:
    """A valid message is read as it was sent."""

    @pytest.mark.parametrize("sent", [REQUIRED, FULL], ids=["minimal", "full"])
    def test_parse_keeps_every_field_and_fills_in_the_defaults(
        self, sent: dict[str, Any]
    ) -> None:
        request = CreateTicket.parse(json.dumps(sent))

        assert request.model_dump(mode="json") == DEFAULTS | sent
        assert request.key == (FULL["project_id"], FULL["idempotency_key"])

    @pytest.mark.parametrize("field", SAMPLES)
    def test_parse_keeps_a_value_at_a_bound(self, field: str) -> None:
        for value in SAMPLES[field].accepted:
            request = CreateTicket.parse(body(**{field: value}))

            expected = DEFAULTS[field] if value is None else value
            assert request.model_dump(mode="json")[field] == expected


class TestRefused:
    """Every other body is poison, with exactly one clear reason."""

    def test_parse_refuses_unknown_fields_and_attributes_of_odd_names(self) -> None:
        for name in ODD_NAMES:
            reason = refusal(body(**{name: SECRET}))
            inner = refusal(body(attributes={name: SECRET}))

            assert not reason.startswith(":")
            assert ";" not in reason + inner
            assert inner.startswith("attributes.")

    @pytest.mark.parametrize(
        ("fields", "reason"),
        [
            ({"title": " "}, "title: must be one line that is not blank"),
            ({"idempotency_key": 4711}, "idempotency_key: must be text"),
            ({"title": "a\nb"}, "title: character U+000A is not allowed in one line"),
            ({"description": "a\x0bb"}, "description: character U+000B is not allowed"),
            *(
                ({name: SECRET}, f"{name}: Extra inputs are not permitted")
                for name in ("titel", "Title", "number", "model_config", "a.b")
            ),
            # There is no field to name.
            ({"\ud800": SECRET}, "body: Input should be a valid string, unable to"),
        ],
        ids=plain_id,
    )
    def test_parse_says_what_is_wrong(
        self, fields: dict[str, Any], reason: str
    ) -> None:
        assert refusal(body(**fields)).startswith(reason)

    @pytest.mark.parametrize(
        ("envelope", "remedy"),
        [
            ({"Type": "Notification", "TopicArn": "t", "Message": "{}"}, "RawMessage"),
            ({"Type": "SubscriptionConfirmation", "TopicArn": "t"}, "RawMessage"),
            ({"detail-type": "t", "source": "s", "detail": {}}, "input path $.detail"),
            ({"specversion": "1.0", "type": "t", "data": REQUIRED}, "its data alone"),
        ],
        ids=plain_id,
    )
    def test_parse_says_what_to_set_when_the_request_is_in_an_envelope(
        self, envelope: dict[str, Any], remedy: str
    ) -> None:
        """Also if a member has the name of a field."""
        assert remedy in refusal(json.dumps(envelope))
        assert remedy in refusal(json.dumps(envelope | {"priority": "high"}))

    @pytest.mark.parametrize("field", REQUIRED)
    def test_parse_refuses_a_missing_field(self, field: str) -> None:
        fields = {name: REQUIRED[name] for name in REQUIRED if name != field}

        assert refusal(json.dumps(fields)) == f"{field}: Field required"

    @pytest.mark.parametrize("field", SAMPLES)
    def test_parse_names_the_place_of_a_bad_value(self, field: str) -> None:
        """No value is converted: 17 is not "17", and a list is not an object."""
        samples = SAMPLES[field]
        kinds = {*map(type, samples.accepted)}
        of_other_types = [value for value in OF_EVERY_TYPE if type(value) not in kinds]
        for bad in [*samples.refused, *of_other_types]:
            assert re.fullmatch(rf"{field}: \w[^;]*", refusal(body(**{field: bad})))
        for bad in samples.refused_within:
            reason = refusal(body(**{field: holding(field, bad)}))
            assert re.fullmatch(rf"{field}\.1: \w[^;]*", reason)

    @pytest.mark.parametrize("field", SAMPLES)
    def test_parse_names_the_limit_that_a_value_exceeds(self, field: str) -> None:
        """A text is counted in characters, a list in items."""
        for value, limit in SAMPLES[field].too_long:
            assert limit in refusal(body(**{field: value}))

    @pytest.mark.timeout(120)
    def test_parse_counts_the_problems_that_it_does_not_list(self) -> None:
        """A body with many problems has a reason of one line all the same."""
        unknown = dict.fromkeys((f"{number:05}" for number in range(MAX_NAMES)), 1)

        reason = refusal(json.dumps(unknown))

        assert reason == (
            "project_id: Field required; idempotency_key: Field required; "
            "title: Field required; and 100 more"
        )

    @pytest.mark.parametrize(
        ("fields", "field"),
        cases(
            {
                "known": ({"title": ""}, "title"),
                "second": ({"Jane": 1, "title": ""}, "title"),
                "inner": ({"labels": [1]}, "labels"),
                "unknown": ({"Jane": 1}, "body"),
                "no-text": ({"\ud800": 1}, "body"),
            }
        ),
    )
    def test_error_names_the_first_field_of_ours(
        self, fields: dict[str, Any], field: str
    ) -> None:
        """The log may name it; the reason may repeat the producer's words."""
        with pytest.raises(PoisonMessageError) as caught:
            CreateTicket.parse(body(**fields))

        assert caught.value.field == field


class TestTooLarge:
    """A body over 256 KiB is poison."""

    @pytest.mark.parametrize(
        "text",
        cases(
            {
                "valid-but-for-padding": body().ljust(MAX_BODY_BYTES + 1),
                "surrogates": "\ud800" * (MAX_BODY_BYTES // 3 + 1),
                "four-byte-characters": DOOR * (MAX_BODY_BYTES // 4 + 1),
            }
        ),
    )
    def test_parse_refuses_a_body_by_its_bytes(self, text: str) -> None:
        size = len(text.encode(errors="surrogatepass"))

        with pytest.raises(TicketTooLargeError) as caught:
            CreateTicket.parse(text)

        assert str(caught.value) == f"body: {size} bytes, at most 262144 are allowed"


class TestKey:
    """Poison is announced under the key that it names, and under no other text."""

    @pytest.mark.parametrize(
        ("text", "key"),
        [
            (body(project_id="PROJ", idempotency_key="k", title=17), ("PROJ", "k")),
            *(("{", None), ("[]", None)),
            (json.dumps({"project_id": "PROJ", "title": "no key"}), None),
            (body(project_id="not#valid"), None),
            ('{"project_id": "A", "project_id": "B", "idempotency_key": "k"}', None),
            *(
                (body(**{name: value}), None)
                for name in ("project_id", "idempotency_key")
                for value in (None, 17, "", "\n")
            ),
        ],
        ids=plain_id,
    )
    def test_key_is_read_when_the_body_names_one(
        self, text: str, key: RequestKey | None
    ) -> None:
        assert CreateTicket.key_of(text) == key


class TestFingerprint:
    """Equal requests have equal fingerprints, in every version of the contract."""

    @pytest.mark.parametrize(
        "text",
        cases(
            {
                "fields-reordered": json.dumps(dict(reversed(FULL.items()))),
                "attributes-reordered": json.dumps(
                    FULL | {"attributes": dict(reversed(FULL["attributes"].items()))}
                ),
                "escaped-more": json.dumps(FULL).replace("export", "\\u0065xport"),
            }
        ),
    )
    def test_fingerprint_is_the_same_when_only_the_spelling_differs(
        self, text: str
    ) -> None:
        original = CreateTicket.parse(json.dumps(FULL))

        assert CreateTicket.parse(text).fingerprint == original.fingerprint

    @pytest.mark.parametrize("field", SAMPLES)
    def test_fingerprint_differs_when_the_request_does(self, field: str) -> None:
        original = CreateTicket.parse(json.dumps(FULL))
        for value in SAMPLES[field].changes:
            changed = CreateTicket.parse(json.dumps(FULL | {field: value}))

            assert changed.fingerprint != original.fingerprint
            assert not original.matches(changed.fingerprint)

    @pytest.mark.parametrize("version", ["v0", "v10", ERASED])
    def test_request_matches_its_own_fingerprint_and_those_of_other_versions(
        self, version: str
    ) -> None:
        request = create_ticket()

        assert request.matches(request.fingerprint)
        assert request.matches(f"{version}:abc")
        assert not request.matches("v1:abc:def")


class TestAnnouncement:
    """The event is a CloudEvent that is the same every time it is sent."""

    def test_event_fills_every_field_that_it_declares(self) -> None:
        assert assigned_event().data.model_fields_set == {*AssignedTicket.model_fields}

    @pytest.mark.parametrize(
        ("padding", "number", "display"),
        [(6, 42, "PROJ-000042"), (2, 42, "PROJ-42"), (1, 1234, "PROJ-1234")],
    )
    def test_display_has_at_least_so_many_digits_when_it_is_padded(
        self, padding: int, number: int, display: str
    ) -> None:
        event = assigned_event(number=number, padding=padding)

        assert event.data.display == display
        assert event.id == event.subject == event.data.ticket_key == f"PROJ-{number}"

    @pytest.mark.parametrize(
        "model", [create_ticket(), assigned_event(), assigned_event().data]
    )
    def test_request_and_event_cannot_be_changed(self, model: Any) -> None:
        """A request's fingerprint is computed once."""
        for name in type(model).model_fields:
            with pytest.raises(ValidationError, match="frozen"):
                setattr(model, name, None)
