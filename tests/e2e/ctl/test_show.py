"""`show`, `list` and `find`: what a person asks of tickets."""

import json

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from tests.support.seed_items import key_item, planted, sequence, ticket_item
from ticketctl.local.stack import LocalStack

pytestmark = pytest.mark.emulator


class TestShow:
    """A ticket, whole."""

    def test_show_tells_all_that_the_producer_sent(
        self, system: System, project: str, ctl: Ctl
    ) -> None:
        fields = ticket_fields(
            project,
            "form-1",
            title="Café ✓",
            description="First\n  second",
            labels=["ui", "login"],
            attributes={"browser": "Firefox"},
        )
        system.send(fields)
        system.wait_for(lambda: system.events(project))

        text, document = (
            ctl("show", f"{project}-1"),
            ctl("show", f"{project}-1", "--json"),
        )

        assert (text.status, document.status) == (0, 0)
        assert {name: document.json[name] for name in fields} == fields
        assert document.json["number"] == 1
        assert document.json["ticket_key"] == f"{project}-1"
        for line in ("title            Café ✓", "description      First", " second"):
            assert line in text.out
        assert "browser: Firefox" in text.out

    def test_show_reads_the_number_behind_the_last_hyphen(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        """A project's id may hold hyphens and dots, and end as a number."""
        name = f"{project}.x-7"
        with planted(deployed, *sequence(name, 3)):
            assert ctl("show", f"{name}-3", "--json").json["project_id"] == name

    def test_show_lets_no_text_drive_the_terminal(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        evil = "\x1b[2J[red]\u202eevil[/red]"
        item = ticket_item(project, 1, "k", title=evil, description=f"a\n{evil}")
        with planted(deployed, item):
            shown = ctl("show", f"{project}-1")
            listed = ctl("list", project)

        for each in (shown, listed):
            assert "\x1b" not in each.out
            assert "\u202e" not in each.out
            assert "[red]" in each.out


class TestList:
    """A project's latest tickets."""

    def test_list_shows_the_newest_first_and_how_to_see_more(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        with planted(deployed, *sequence(project, *range(1, 8))):
            first = ctl("list", project, "--limit", "3", "--json")
            then = ctl("list", project, "--limit", "4", "--before", "5", "--json")
            table = ctl("list", project)

        assert [each["number"] for each in first.json_lines] == [7, 6, 5]
        assert f"ticketctl list {project} --limit 3 --before 5" in first.err
        assert [each["number"] for each in then.json_lines] == [4, 3, 2, 1]
        assert (then.err, table.err) == ("", "")
        assert table.out.index("Ticket 7") < table.out.index("Ticket 1")

    def test_list_reads_on_when_a_page_of_dynamodb_is_full(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        """A page ends at 1 MB, whatever the limit."""
        items = [
            ticket_item(project, number, f"k-{number}", description="x" * 300_000)
            for number in range(1, 7)
        ]
        with planted(deployed, *items):
            ended = ctl("list", project, "--json")

        numbers = [json.loads(line)["number"] for line in ended.out.splitlines()]
        assert numbers == [6, 5, 4, 3, 2, 1]


class TestFind:
    """By the key that the producer chose."""

    def test_find_shows_the_record_and_its_ticket(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        with planted(deployed, *sequence(project, 1, 2)):
            text = ctl("find", project, "key-2")
            document = ctl("find", project, "key-2", "--json")

        assert (text.status, document.status) == (0, 0)
        assert document.json["ticket"]["ticket_key"] == f"{project}-2"
        assert document.json["record"]["number"] == 2
        assert f"{project}-2" in text.out
        assert "v1:planted" in text.out

    def test_find_says_so_when_record_and_ticket_do_not_match(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        """The audit of all projects says more: the ticket is gone, or another's."""
        wrong = ticket_item(project, 1, "a"), key_item(project, 1, "b")
        with planted(deployed, *wrong, key_item(project, 2, "gone")):
            another, none = ctl("find", project, "b"), ctl("find", project, "gone")

        assert (another.status, none.status) == (1, 1)
        assert f"{project}-1, which has another key" in another.err
        assert f"{project}-2, but there is no such ticket" in none.err
        for ended in (another, none):
            assert ended.err.endswith("see: ticketctl audit\n")

    def test_find_names_the_audit_when_the_record_is_malformed(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        odd = key_item(project, 1, "odd") | {"number": {"S": "1"}}
        with planted(deployed, odd):
            ended = ctl("find", project, "odd")

        assert (ended.status, ended.out, ended.err.count("\n")) == (1, "", 1)
        assert f"{project}#odd is malformed; see: ticketctl audit" in ended.err


class TestNothingToShow:
    """One line on standard error, and a status that says which case it is."""

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("show", "{}-99"), "there is no ticket {}-99"),
            (("list", "{}"), "{} has no tickets"),
            (("list", "{}", "--json"), "{} has no tickets"),
            (("find", "{}", "unknown"), "it may still be on the queue or in the dead-"),
        ],
    )
    def test_command_ends_with_status_1_when_it_is_not_there(
        self, project: str, ctl: Ctl, arguments: tuple[str, ...], said: str
    ) -> None:
        ended = ctl(*(argument.format(project) for argument in arguments))

        assert (ended.status, ended.out) == (1, "")
        assert said.format(project) in ended.err
        assert ended.err.count("\n") == 1

    @pytest.mark.parametrize(
        "arguments",
        [
            *(("show", "PROJ"), ("show", "PROJ-0"), ("show", "PR#J-1")),
            *(("show", "P-1\x1b"), ("show", "P-٣")),
            *(("list", "PR#J"), ("list", "P" * 65), ("list", "P", "--limit", "0")),
            *(("list", "P", "--before", "9" * 40), ("find", "P", "with space")),
            *(("find", "P", ""), ("find", "P", "k" * 129)),
        ],
        ids=str,
    )
    def test_command_is_refused_when_it_makes_no_sense(
        self, ctl: Ctl, arguments: tuple[str, ...]
    ) -> None:
        ended = ctl(*arguments)

        assert (ended.status, ended.out) == (2, "")
        assert "\x1b" not in ended.err
