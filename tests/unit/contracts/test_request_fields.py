"""A field of the request appears in every place where it must."""

import inspect
import json
import re
import runpy
from collections.abc import Iterable, Mapping
from typing import Final

import pytest

from simulation import producers
from tests.support.evidence import VERIFIER
from tests.support.markdown_commands import ROOT
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.commands.send import send
from ticketctl.sequences.erasing import KEPT

FIELDS: Final = CreateTicket.model_fields
IDENTITY: Final = {"project_id", "idempotency_key"}
REQUIRED: Final = {name for name, field in FIELDS.items() if field.is_required()}
CAP: Final = "max_number"


def page(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def first_cells(path: str, heading: str) -> set[str]:
    """Return the names in the first column of the tables under a heading."""
    section = page(path).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\|([^|]*)\|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def options() -> set[str]:
    """Return the fields that `ticketctl send` has an option for."""
    given = {"project": "project_id", "key": "idempotency_key", "label": "labels"}
    return {given.get(name, name) for name in inspect.signature(send).parameters}


def never_logged() -> set[str]:
    [sentence] = re.findall("It never logs (.*?)\n", page("SECURITY.md"))
    return {*re.findall(r"\w+", sentence)}


def kept_and_restored() -> set[str]:
    """Return the attributes in the table that a restore saves, too."""
    path = "docs/operations.md"
    [saved] = re.findall(r"jq .*\{(project_id, [\w, ]+)\}", page(path))
    return first_cells(path, "The tables' attributes") & {*saved.split(", ")}


def fingerprinted() -> set[str]:
    [definition] = re.findall("- `fingerprint` is (.*)", page("docs/evidence.md"))
    return {*re.findall(r"`(\w+)`", definition)}


def published() -> Iterable[str]:
    schema = json.loads(page("docs/schemas/create-ticket.schema.json"))
    names: dict[str, object] = schema["properties"]
    return names


PLACES: Final[Mapping[str, tuple[Iterable[str], set[str]]]] = {
    "docs/schemas": (published(), set()),
    # Attributes are for files.
    "ticketctl/commands/send.py": (options(), {"attributes"}),
    "lab/simulation/producers.py": ({*producers.OPTIONAL_VALUES}, {*REQUIRED, CAP}),
    "docs/producing.md": (first_cells("docs/producing.md", "Fields"), set()),
    # The cap is no part of the ticket.
    "docs/operations.md": (kept_and_restored(), {CAP}),
    "docs/evidence.md": (fingerprinted(), {CAP}),
    "docs/examples/verify.py": (runpy.run_path(str(VERIFIER))["TEXT"], {CAP}),
    # The log names the request, and these two say nothing of a person.
    "SECURITY.md": (never_logged(), {*IDENTITY, "priority", CAP}),
}
"""The fields that each place names, and those that it leaves out on purpose."""


class TestFields:
    """A new field must appear in every place."""

    @pytest.mark.parametrize("place", PLACES)
    def test_field_is_named_in_every_place(self, place: str) -> None:
        named, left_out = PLACES[place]

        missing = FIELDS.keys() - {*named} - left_out

        assert not missing, f"{place} lacks {sorted(missing)}"

    def test_erased_ticket_keeps_only_what_is_chosen(self) -> None:
        """The title is replaced; a field that holds text of a person must not stay."""
        assert FIELDS.keys() & KEPT == {*IDENTITY, "title", "priority"}

    @pytest.mark.parametrize("place", [*PLACES, "ticketctl/sequences/erasing.py"])
    def test_recipe_names_the_place(self, place: str) -> None:
        recipe = page("CONTRIBUTING.md").partition("**A field to the request.**")[2]

        assert f"`{place}`" in recipe.partition("\n\n")[0]
