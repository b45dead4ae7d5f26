"""`ticketctl convert` makes lines of the files that other programs write."""

import json
from collections.abc import Sequence
from datetime import tzinfo
from pathlib import Path
from typing import Any

import pytest

from tests.support.builders import create_ticket
from tests.support.cases import plain_id
from tests.support.markdown_commands import commands
from tests.support.paths import ROOT
from tests.support.stage import Stage
from ticket_numbering.contract.messages import MAX_BODY_BYTES, CreateTicket
from ticketctl.aws.items import plain
from ticketctl.aws.request_fields import body_of
from ticketctl.cli.errors import InputError, Status
from ticketctl.convert.columns import Columns, mapped
from ticketctl.convert.command import Changes, Choices, Conversion, open_rows
from ticketctl.convert.rows import rows_of
from ticketctl.convert.times import time_of, zone_of
from ticketctl.files.fitting import fitted
from ticketctl.files.lines import Line, Problems

SAMPLES = ROOT / "tests" / "support" / "samples"
JIRAS = "%d/%b/%y %I:%M %p"
BERLIN = zone_of("Europe/Berlin")


def rows(
    tmp_path: Path,
    content: str | bytes,
    columns: Columns | None = None,
    encoding: str | None = None,
) -> list[Line]:
    path = tmp_path / "tickets.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with open_rows(str(path), columns or Columns(), encoding, Changes()) as lines:
        return [*lines]


def converted(
    *lines: dict[str, Any], zone: tzinfo | None = None, **choices: Any
) -> tuple[list[Any], Conversion]:
    conversion = Conversion(Choices(**choices), zone, Problems("my.csv"))
    numbered = (Line(number, fields) for number, fields in enumerate(lines, 1))
    return [*conversion.lines(numbered)], conversion


class TestTables:
    """A table is read as it is written."""

    @pytest.mark.parametrize(
        ("content", "encoding"),
        [
            ("title;project_id\nx;A\n", None),
            ("title\tproject_id\nx\tA\n", None),
            ("sep=|\n\ntitle|project_id\nx|A\n", None),
            ('"sep=;"\r\ntitle;project_id\r\nx;A\r\n', None),
            ('title;project_id;"a, b,\nc, d, e"\nx;A;\n', None),
            ('\ntitle,project_id,5"\nx,A,\n', None),
            ("\ufefftitle,project_id\nx,A\n", "utf-8"),
            ("title,project_id\nx,A\n".encode("utf-16"), "utf-16"),
            (f"title,project_id,notes\nx,A,{'y' * 140_000}\n", None),
        ],
        ids=plain_id,
    )
    def test_table_is_read_when_another_program_wrote_it(
        self, tmp_path: Path, content: str | bytes, encoding: str | None
    ) -> None:
        columns = mapped(["title=title", "title=title", "project_id=project_id"])

        [line, *_] = rows(tmp_path, content, columns, encoding)

        assert (line.problem, line.fields) == (None, {"title": "x", "project_id": "A"})

    def test_columns_are_found_when_their_names_are_written_otherwise(
        self, tmp_path: Path
    ) -> None:
        """The cells of an attribute are joined."""
        columns = mapped(["a caf\u00e9=title", "L=labels", " L =attributes.l"])

        [line] = rows(tmp_path, "a  cafe\u0301; L;L \nx;a;b\n", columns)

        labels = {"labels": ["a", "b"], "attributes": {"l": "a, b"}}
        assert line.fields == {"title": "x"} | labels

    def test_header_ends_soon_when_it_has_a_stray_quote(self) -> None:
        texts = iter(['title,project_id,5"\n', *["x,A,\n"] * 1_000])

        next(rows_of("a.csv", texts, mapped(["title=title"]), lambda _: None))

        assert len([*texts]) > 800

    @pytest.mark.parametrize(
        ("row", "problem"),
        [
            ("7,t", None),
            ("7", "body: 1 cell, and the header has 3"),
            ("7,t,a,b", "body: 4 cells, and the header has 3"),
        ],
    )
    def test_row_may_lack_the_cells_behind_its_number_and_title(
        self, tmp_path: Path, row: str, problem: str | None
    ) -> None:
        """Some programs leave out empty cells; less is a part of a row."""
        [line, *_] = rows(tmp_path, f"number,title,labels\n{row}\n8,u,\n")

        assert line.problem == problem
        assert problem or line.fields == {"number": 7, "title": "t"}

    @pytest.mark.parametrize("cap", ["9" * 5_000, "-1", "1.5", "\u00b2"])
    def test_cap_is_left_to_the_check_when_it_is_no_number(
        self, tmp_path: Path, cap: str
    ) -> None:
        [line] = rows(tmp_path, f"title,max_number\nx,{cap}\n")

        assert line.fields["max_number"] == cap

    def test_table_is_no_zip_file_when_its_first_column_is_called_pk(
        self, tmp_path: Path
    ) -> None:
        [line] = rows(tmp_path, "PK,title\n1,x\n", mapped(["title=title"]))

        assert line.fields == {"title": "x"}

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            ("attributes\n{}\n", "'attributes'"),
            ('title\n"He said "hi"\n', "expected"),
            ('title\n"a\nb\n', "unexpected end"),
            (b"\xfe\xff\x00a", "1: .*--encoding utf-16"),
            (b"\x1f\x8b\x08\x00", "gunzip"),
            (b"PK\x03\x04", "save the sheet as CSV UTF-8"),
            (b"\xd0\xcf\x11\xe0", "save the sheet as CSV UTF-8"),
            ("\x1b[1mtitle\x1b[0m\n", "colours"),
        ],
    )
    def test_file_is_refused_when_it_cannot_be_read_as_it_is_written(
        self, tmp_path: Path, content: str | bytes, why: str
    ) -> None:
        with pytest.raises(InputError, match=why):
            rows(tmp_path, content)


class TestDates:
    """A date has its zone, or is refused."""

    @pytest.mark.parametrize(
        ("value", "form", "expected"),
        [
            ("2019-05-04t10:00:00.5z", None, "2019-05-04T10:00:00.500Z"),
            ("2019-05-04T10:00:00.123456789+02:00", None, "2019-05-04T08:00:00.123Z"),
            ("22/Nov/26 10:00 AM", JIRAS, "2026-11-22T09:00:00.000Z"),
            ("22/Nov/26 10:00 AM +0200", f"{JIRAS} %z", "2026-11-22T08:00:00.000Z"),
            ("100%Z 22/07/26", "100%%Z %d/%m/%y", "2026-07-21T22:00:00.000Z"),
            ("Sun Nov 22 2026 10:00:00 GMT-0330", None, "2026-11-22T13:30:00.000Z"),
        ],
    )
    def test_date_is_in_utc_whether_it_names_a_zone_or_is_given_one(
        self, value: str, form: str | None, expected: str
    ) -> None:
        assert time_of(value, form, BERLIN).text == expected

    def test_local_date_is_refused_when_no_zone_is_given(self) -> None:
        lines, conversion = converted(
            {"number": 1, "title": "t", "assigned_at": "2019-05-04T10:00:00"},
            {"number": 2, "title": "t", "assigned_at": "2019-05-04T10:00:00Z"},
        )

        assert [line["number"] for line in lines] == [2]
        assert conversion.problems.number == 1

    def test_local_dates_are_named_with_the_hour_that_comes_twice(self) -> None:
        night = ("2026-10-25T01:30", "2026-10-25T02:30", "2026-10-25T03:30")

        lines, conversion = converted(
            *({"assigned_at": date} for date in night), zone=BERLIN
        )

        assert [line["assigned_at"][11:16] for line in lines] == [
            *("23:30", "00:30", "02:30")
        ]
        assert [*conversion.changes.notes()] == [
            "assigned_at is taken as Europe/Berlin: 3 tickets, on lines 1-3",
            "assigned_at is twice that day; the first is taken: 1 ticket, on line 2",
        ]

    @pytest.mark.parametrize("name", ["Europe/Atlantis", "../etc/passwd", ""])
    def test_zone_is_refused_when_this_machine_does_not_know_it(
        self, name: str
    ) -> None:
        with pytest.raises(InputError, match="--time-zone"):
            zone_of(name)


class TestFit:
    """A text that does not fit costs a mark in the text."""

    @pytest.mark.parametrize(
        ("fields", "kept"),
        [
            ({"title": "a\r\nb\tc\x1b\u2028"}, {"title": "a b c\ufffd "}),
            ({"title": "t" * 255}, {"title": "t" * 200}),
            ({"title": None}, {"title": "\ufffd"}),
            ({"title": " "}, {"title": "\ufffd"}),
            ({"description": "a\r\n\x0c\ud800"}, {"description": "a\r\n\ufffd\ufffd"}),
            ({"labels": ["l" * 70] * 21}, {"labels": ["l" * 64] * 20}),
            ({"attributes": {"a": "v" * 1025}}, {"attributes": {"a": "v" * 1024}}),
        ],
        ids=plain_id,
    )
    def test_text_is_cut_and_marked_when_a_ticket_cannot_hold_it(
        self, fields: dict[str, Any], kept: dict[str, Any]
    ) -> None:
        identity = {"project_id": "PROJ", "idempotency_key": "k"}

        [line], conversion = converted(identity | {"title": "t"} | fields, fit=True)

        assert CreateTicket.parse(json.dumps(line)) == create_ticket(
            **{"idempotency_key": "k", "title": "t"} | kept
        )
        [change, of_own_key] = conversion.changes.notes()
        assert change.startswith(next(iter(fields)))
        assert "repeat" in of_own_key

    def test_description_is_cut_when_the_body_has_too_many_bytes(self) -> None:
        door = "\U0001f6aa"
        whole = {"project_id": "x" * 64, "idempotency_key": "x" * 128, "title": "t"}

        cut = fitted({"title": "t", "description": door * 70_000})["description"]

        assert {*cut} == {door}
        size = len(body_of(whole | {"description": cut}).encode())
        assert MAX_BODY_BYTES - len(door.encode()) < size <= MAX_BODY_BYTES

    def test_line_is_as_it_was_when_it_fits(self) -> None:
        line = {"key": "A-1", "title": "t", "assigned_at": "2019-05-04T10:00:00.000Z"}

        lines, conversion = converted(line, fit=True)

        assert lines == [line]
        assert not [*conversion.changes.notes()]


def shown() -> list[Sequence[str]]:
    """Return the commands of the page that convert other systems' exports."""
    page = (ROOT / "docs" / "seeding.md").read_text()
    words = [
        command.words for command in commands("ticketctl", page) if command.is_in_block
    ]
    return [
        call for call in words if call[0] == "convert" and (SAMPLES / call[1]).exists()
    ]


def test_exports_are_tickets_when_the_commands_of_the_page_convert_them(
    stage: Stage,
) -> None:
    """Of Jira and Linear: cells of several lines, two columns of labels."""
    for name, file, *options in shown():
        saved = options.index("--save") + 1
        options[saved] = str(stage.folder / f"{file}l")
        assert stage.call(name, str(SAMPLES / file), *options).status == Status.OK
        assert stage.call("import", options[saved]).status == Status.OK
    issues = str(SAMPLES / "issues.jsonl")
    assert stage.call("import", issues, "--project", "WEB").status == Status.OK

    stored = [*map(plain, stage.services.tables.items("tickets"))]
    by_key = {item["idempotency_key"]: item for item in stored if "title" in item}
    jira, linear, github = (
        by_key[f"import:{key}"] for key in ("SHOP-2", "ENG-12", "WEB-7")
    )
    assert len(by_key) == 6
    assert (jira["title"], jira["reporter"]) == ("Pay by card", "Ada Lovelace")
    assert jira["description"].endswith('\r\nSee the design, then "ship" it.')
    assert jira["labels"] == ["payment", "card"]
    assert jira["attributes"] == {"priority": "Highest"}
    assert jira["assigned_at"] == "2024-03-12T09:41:00.000Z"
    assert linear["labels"] == ["Bug", "Web"]
    assert linear["assigned_at"] == "2024-05-14T08:53:33.000Z"
    assert github["labels"] == ["bug", "good first issue"]


def test_changes_of_rows_in_a_row_are_one_run_when_rows_have_several_lines(
    tmp_path: Path,
) -> None:
    changes = Changes()
    path = tmp_path / "tickets.csv"
    path.write_text('title,labels\n"a\nb"\n"c\nd"\ne,x\nf\n')

    with open_rows(str(path), Columns(), None, changes) as lines:
        [*Conversion(Choices(), None, Problems("my.csv"), changes).lines(lines)]

    [note] = changes.notes()
    assert note.endswith(": 3 tickets, on lines 2-4, 7")
