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
        """Through the whole system, as it was numbered."""
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

    @pytest.mark.parametrize("status", ["voided", "reserved"])
    def test_show_tells_the_status(
        self, deployed: LocalStack, project: str, ctl: Ctl, status: str
    ) -> None:
        """Voided, or reserved; and whatever else is noted beside it."""
        item = ticket_item(project, 1, None, status=status, reason="By mistake")
        with planted(deployed, item):
            shown = ctl("show", f"{project}-1")

        assert f"status           {status}" in shown.out
        assert "By mistake" in shown.out

    def test_show_lets_no_text_drive_the_terminal(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        """Neither escape sequences nor markup do anything."""
        evil = "\x1b[2J[red]\u202eevil[/red]"
        item = ticket_item(project, 1, "k", title=evil, description=f"a\n{evil}")
        with planted(deployed, item):
            shown = ctl("show", f"{project}-1")
            listed = ctl("list", project)

        for each in (shown, listed):
            assert "\x1b" not in each.out
            assert "\u202e" not in each.out
            assert "[red]" in each.out

    def test_show_says_so_when_there_is_no_such_ticket(
        self, project: str, ctl: Ctl
    ) -> None:
        """One line, and status 1."""
        ended = ctl("show", f"{project}-99")

        assert (ended.status, ended.out) == (1, "")
        assert f"there is no ticket {project}-99" in ended.err
        assert ended.err.count("\n") == 1

    @pytest.mark.parametrize(
        "ticket_key",
        ["PROJ", "42", "-42", "PROJ-", "PROJ-0", "PROJ-x", "PR#J-1", "P-1\x1b", "P-٣"],
    )
    def test_show_refuses_what_is_no_ticket_key(
        self, ctl: Ctl, ticket_key: str
    ) -> None:
        """One line that shows one that is."""
        ended = ctl("show", "--", ticket_key)

        assert (ended.status, ended.out) == (2, "")
        assert "PROJ-42" in ended.err
        assert "\x1b" not in ended.err

    def test_show_says_so_when_there_is_no_such_stack(self, ctl: Ctl) -> None:
        """Status 3, and how to name another."""
        ended = ctl("--stack", "no-such-stack", "show", "PROJ-1")

        assert ended.status == 3
        assert "--stack" in ended.err


class TestList:
    """A project's latest tickets."""

    def test_list_shows_the_newest_first_and_how_to_see_more(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        """Page by page, each once."""
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

    def test_list_says_so_when_the_project_has_no_tickets(
        self, project: str, ctl: Ctl
    ) -> None:
        """Status 1, with --json too."""
        for ended in (ctl("list", project), ctl("list", project, "--json")):
            assert (ended.status, ended.out) == (1, "")
            assert f"{project} has no tickets" in ended.err

    @pytest.mark.parametrize(
        "arguments",
        [
            ["PR#J"],
            ["P", "--limit", "0"],
            ["P", "--limit", "9" * 23],
            ["P", "--before", "x"],
            ["P", "--before", "9" * 40],
            ["P" * 65],
            [],
        ],
    )
    def test_list_refuses_what_makes_no_sense(
        self, ctl: Ctl, arguments: list[str]
    ) -> None:
        """Status 2, before anything is asked."""
        assert ctl("list", *arguments).status == 2


class TestFind:
    """By the key that the producer chose."""

    def test_find_shows_the_record_and_its_ticket(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        """For people and for scripts."""
        with planted(deployed, *sequence(project, 1, 2)):
            text = ctl("find", project, "key-2")
            document = ctl("find", project, "key-2", "--json")

        assert (text.status, document.status) == (0, 0)
        assert document.json["ticket"]["ticket_key"] == f"{project}-2"
        assert document.json["record"]["number"] == 2
        assert f"{project}-2" in text.out
        assert "v1:planted" in text.out

    def test_find_says_where_else_to_look_when_the_key_is_unknown(
        self, project: str, ctl: Ctl
    ) -> None:
        """It may not have been numbered yet."""
        ended = ctl("find", project, "unknown")

        assert (ended.status, ended.out) == (1, "")
        assert "not numbered (yet)" in ended.err
        assert "dead-letter queue" in ended.err

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

    @pytest.mark.parametrize(
        "flaw", [{"number": {"S": "1"}}, {"project_id": {"S": "B"}}, {"number": None}]
    )
    def test_find_names_the_audit_when_the_record_is_malformed(
        self,
        deployed: LocalStack,
        project: str,
        ctl: Ctl,
        flaw: dict[str, dict[str, str] | None],
    ) -> None:
        """One line: an attribute of another type, another's, or none."""
        item = key_item(project, 1, "odd") | flaw
        odd = {name: value for name, value in item.items() if value}
        with planted(deployed, odd):
            ended = ctl("find", project, "odd")

        assert (ended.status, ended.out, ended.err.count("\n")) == (1, "", 1)
        assert f"{project}#odd is malformed; see: ticketctl audit" in ended.err

    @pytest.mark.parametrize("key", ["", "with space", "k" * 129, "ü"])
    def test_find_refuses_what_no_key_can_be(self, ctl: Ctl, key: str) -> None:
        """Status 2."""
        assert ctl("find", "P", key).status == 2
