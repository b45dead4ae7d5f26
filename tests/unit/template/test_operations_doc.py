"""The operators' pages name every alarm, error, finding and right."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, get_args

import pytest
import typer

from tests.support.aws_cli import called, sdk
from tests.support.markdown_commands import (
    Shown,
    anchor_of,
    blocks,
    commands,
    in_comments,
)
from tests.support.paths import EXAMPLES, ROOT
from tests.support.template_loader import ids_of, source
from ticket_numbering.contract.attributes import REASON_ATTRIBUTES
from ticket_numbering.contract.errors import (
    PoisonMessageError,
    TicketNumberingError,
    TransientError,
)
from ticket_numbering.worker.observability import Metric
from ticket_numbering.worker.results import Numbered, Result
from ticketctl.aws.outputs import variable_of
from ticketctl.commands import app
from ticketctl.commands.application import LOCAL
from ticketctl.ledger.findings import FindingKind
from ticketctl.status.variables import UNSET
from tools.rights import Grant, tasks

PAGES = {
    name: (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in ("on-call.md", "recovery.md", "operations.md")
}
TEXT = "".join(PAGES.values())
INSTALL = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
POLICIES = "".join(
    (EXAMPLES / name).read_text()
    for name in re.findall(r"\(examples/([\w-]+\.json)\)", INSTALL)
)


def with_examples(text: str) -> str:
    """Return a part of the page with the commands of the examples that it links."""
    names = re.findall(r"\(examples/([\w.]+)\)", text)
    return "\n".join([text, *(in_comments(EXAMPLES / name) for name in names)])


def test_every_variable_of_a_command_is_an_output_or_set_or_explained() -> None:
    """A misspelt one is empty, and the command asks for another thing."""
    code = "\n".join(blocks(with_examples(TEXT), "sh"))
    known = {*map(variable_of, source()["Outputs"]), "TICKETCTL_STACK", UNSET}
    known |= {*re.findall(r"`\$(\w+)`", TEXT), *re.findall(r"\b([A-Z_]+)=", code)}

    assert {*re.findall(r"\$\{?([A-Z_]+)", code)} <= known


def names_below(base: type[Exception]) -> set[str]:
    """Return the names of all errors of a kind, without its own."""
    below = base.__subclasses__()
    return {kind.__name__ for kind in below}.union(*map(names_below, below))


RESULTS = get_args(Result)
WORDS = {
    "outcome": {result.outcome for result in RESULTS},
    "message": {result.message for result in RESULTS},
    "error_type": names_below(TicketNumberingError),
}
QUERIES = "".join(path.read_text("utf-8") for path in EXAMPLES.glob("*.query"))
COLUMNS = {
    name
    for line in re.findall(r"^fields (.+)$| by (.+), bin", QUERIES, re.MULTILINE)
    for name in "".join(line).split(", ")
    if name[0] != "@"  # Those are CloudWatch's.
}
NAMES = {
    *ids_of("AWS::CloudWatch::Alarm", GradualDeployment="true"),
    *names_below(TransientError) | names_below(PoisonMessageError),
    *FindingKind,
    *REASON_ATTRIBUTES,
    *Metric,
    *WORDS["outcome"] | WORDS["message"],
    *COLUMNS,
}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_page_names_what_an_operator_meets(name: str) -> None:
    """An alarm, an error, a finding, a metric, a word or a field of the log."""
    assert f"`{name}`" in TEXT, f"name it on one of the pages: {[*PAGES]}"


def values(text: str, field: str) -> set[str]:
    """Return the values that queries compare a field of the log with."""
    literals = re.findall(rf'\b{field} (?:=|in) (\[[^]]*\]|"[^"]*")', text)
    return {word for value in literals for word in re.findall('"([^"]*)"', value)}


class TestQueries:
    """A saved query that looks for another word finds nothing."""

    def test_query_looks_for_what_the_worker_writes(self) -> None:
        compared = {field: values(QUERIES, field) for field in WORDS}

        assert any(compared.values())
        assert all(compared[field] <= words for field, words in WORDS.items())

    def test_query_of_the_latest_numbers_finds_every_result_with_a_number(self) -> None:
        query = (EXAMPLES / "latest_numbers.query").read_text("utf-8")

        numbered = [result for result in RESULTS if issubclass(result, Numbered)]
        assert values(query, "outcome") == {result.outcome for result in numbered}


RESTORED = "tables whose names begin with `restored-`"
TABLES = {
    "$TICKETS_TABLE_NAME": ["the tickets"],
    "$IDEMPOTENCY_KEYS_TABLE_NAME": ["the keys"],
    "$RESTORED-tickets": [RESTORED],
    "$RESTORED-keys": [RESTORED],
    "$table": ["the tickets", "the keys"],
}


def tables(words: tuple[str, ...]) -> set[str]:
    """Return the tables that a command names, as the rights call them."""
    return {
        table
        for option, value in pairwise(words)
        if option.endswith("table-name")
        for table in TABLES[value]
    }


def by_task() -> Iterator[tuple[tuple[str, ...], Shown]]:
    """Yield each command of the pages with the headings above it, as links."""
    above: list[str] = []
    for page, part in (
        (page, part)
        for page, text in PAGES.items()
        for part in re.split(r"^(?=#+ )", text, flags=re.MULTILINE)
    ):
        level, _, title = part.partition("\n")[0].partition(" ")
        above = [*above[: len(level) - 1], f"{page}#{anchor_of(title)}"]
        for shown in commands("aws", with_examples(part)):
            # The page's own heading stands for all without a section.
            yield tuple(above[1:] or above), shown


BY_TASK = [*by_task()]

# `iam:PassRole` is a right without an operation; the others are condition keys.
NO_OPERATIONS = "aws:|iam:Pass|iam:Pol|iam:Permissions|lambda:FunctionArn"
RIGHTS = set(
    re.findall(rf"[`\"]((?!{NO_OPERATIONS})\w+:\w+)[`\"]", TEXT + INSTALL + POLICIES)
).union(*(grant.allow for task in tasks() for grant in task.rights))


class TestRights:
    """The rights of the page exist, and are enough for its commands."""

    @pytest.mark.parametrize("action", sorted(RIGHTS))
    def test_right_is_one_that_aws_knows(self, action: str) -> None:
        service, _, name = action.partition(":")
        model = sdk().get_service_model(service)
        # A transaction's check is a right without an operation.
        assert name in {*model.operation_names, "ConditionCheckItem"}

    @pytest.mark.parametrize(("anchors", "shown"), BY_TASK, ids=str)
    def test_task_has_the_right_to_each_of_its_commands(
        self, anchors: tuple[str, ...], shown: Shown
    ) -> None:
        """On its table too: an operator on call need not ask for it at night."""
        right = ":".join(called(shown.words))
        own = [task for task in tasks() if {*anchors} & task.runbooks.keys()]

        named: list[str | None] = [*tables(shown.words)] or [None]
        for on in named:
            assert any(task.allows(right, on) for task in own), (right, on)

    def test_right_on_one_table_is_none_on_another(self) -> None:
        """Otherwise the test above would accept calls that DynamoDB rejects."""
        grant = Grant(allow=("dynamodb:PutItem",), on=("the tickets",))

        assert grant.allows("dynamodb:PutItem", "the tickets")
        assert not grant.allows("dynamodb:PutItem", "the keys")
        assert not grant.allows("dynamodb:GetItem", "the tickets")

    def test_every_command_that_needs_a_stack_has_a_row(self) -> None:
        """A person who uses one command does not need the rights of all."""
        group: Any = typer.main.get_command(app)
        needing = {
            name if command is leaf else f"{name} {leaf.name}"
            for name, command in group.commands.items()
            for leaf in getattr(command, "commands", {"": command}).values()
            if command.rich_help_panel != LOCAL
        }

        assert needing == {name for task in tasks() for name in task.commands}
