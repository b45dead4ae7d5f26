"""A field of the request appears in every place that is not derived from it."""

import typing
from inspect import get_annotations, signature
from types import NoneType
from typing import Any, Final

import pytest
from typer.models import OptionInfo

from tests.support.sample_messages import FOR_FILES, FULL, OPTIONS, SAMPLES
from ticket_numbering.contract.messages import (
    CONTENT_DEFAULTS,
    CreateTicket,
    RequestKey,
)
from ticketctl.commands.send import send
from ticketctl.ledger.chain import KEPT
from tools import pages

FIELDS: Final = CreateTicket.model_fields
SCHEMA: Final = CreateTicket.model_json_schema()["properties"]
JSON_TYPES: Final = {str: "string", int: "integer"}


def test_every_field_has_an_example_and_samples() -> None:
    """The full message has the examples; the tests of all bounds have the samples."""
    assert [*FULL] == [*FIELDS], "contract/messages.py: a field has no example"
    assert {*FIELDS} == {*SAMPLES}, "tests/support/sample_messages.py lacks samples"
    for name, samples in SAMPLES.items():
        assert len(samples.accepted) > 1
        assert len(samples.refused) > 1
        assert samples.changes or name not in CONTENT_DEFAULTS


@pytest.mark.parametrize("name", FIELDS)
def test_format_has_a_pattern_beside_it_when_a_field_has_one(name: str) -> None:
    """Many validators take a format as a note, or more loosely than RFC 3339.

    And `$` allows a line break behind it, unless another pattern forbids it.
    """
    for kind in SCHEMA[name].get("anyOf", [SCHEMA[name]]):
        assert "pattern" in kind or "format" not in kind
        assert "not" in kind or not kind.get("pattern", "").endswith("$")


def test_pages_have_what_is_made_from_their_sources_between_markers() -> None:
    """If this fails, run `make contracts`; repair a damaged marker."""
    texts = pages.pages()

    for path, text in texts.items():
        assert text == (pages.ROOT / path).read_text("utf-8"), path
        kinds = ("generated", "transcript")
        starts = [text.count(f"<!-- {kind}: ") for kind in kinds]
        assert starts == [text.count(f"<!-- /{kind} -->") for kind in kinds], path
    assert all(f"generated: {name} " in str(texts) for name in pages.PARTS)


def option_of(name: str) -> tuple[OptionInfo, Any, type]:
    """Return the option for a field, its default and the type of its values."""
    option = OPTIONS.get(name, name)
    hints = get_annotations(send)
    assert option in hints, f"ticketctl/commands/send.py lacks --{option}"
    hint = hints[option]
    kinds = {*(typing.get_args(hint.__origin__) or [hint.__origin__])} - {NoneType}
    [kind] = kinds
    [info] = hint.__metadata__
    return info, signature(send).parameters[option].default, kind


@pytest.mark.parametrize("name", [name for name in FIELDS if name not in FOR_FILES])
class TestOptionsOfSend:
    """The options of `ticketctl send` are typed by hand, and fit the model."""

    def test_option_has_type_and_bounds_of_its_field(self, name: str) -> None:
        info, _, kind = option_of(name)

        is_list = typing.get_origin(kind) is list
        item = typing.get_args(kind)[0] if is_list else kind
        schema = SCHEMA[name].get("anyOf", [SCHEMA[name]])[0]
        assert is_list == (schema["type"] == "array")
        assert JSON_TYPES[item] == schema.get("items", schema)["type"]
        assert (info.min, info.max) == (schema.get("minimum"), schema.get("maximum"))

    def test_option_is_demanded_when_its_field_is_unless_it_can_be_made(
        self, name: str
    ) -> None:
        _, default, _ = option_of(name)

        is_demanded = FIELDS[name].is_required() and name != "idempotency_key"
        assert (default is None) != is_demanded

    def test_help_names_each_value(self, name: str) -> None:
        info, _, _ = option_of(name)

        assert info.help
        for kind in SCHEMA[name].get("anyOf", [SCHEMA[name]]):
            for value in kind.get("enum", ()):
                assert value in info.help


def test_erased_ticket_keeps_only_what_is_chosen() -> None:
    """The title is replaced; a field that holds text of a person must not stay."""
    assert FIELDS.keys() & KEPT == {*RequestKey._fields, "title", "priority"}
