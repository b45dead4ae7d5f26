"""Files of messages: a JSON object a line, or one clear sentence about the line."""

from pathlib import Path

import pytest

from ticketctl.cli.errors import InputError
from ticketctl.verify.message_file import read_messages


def read(tmp_path: Path, content: bytes) -> list[str]:
    """Read a file of this content."""
    path = tmp_path / "my.jsonl"
    path.write_bytes(content)
    return read_messages(path)


class TestAccepted:
    """What a person's editor or another program may have written."""

    def test_messages_are_the_lines_as_they_are(self, tmp_path: Path) -> None:
        lines = read(tmp_path, b'{"a":  1}\n{"b": "\xc3\xa9"}\n')

        assert lines == ['{"a":  1}', '{"b": "\u00e9"}']

    def test_messages_leave_out_blank_lines(self, tmp_path: Path) -> None:
        assert read(tmp_path, b'\n{"a": 1}\n  \n{"b": 2}') == ['{"a": 1}', '{"b": 2}']

    def test_messages_keep_line_separators_within_a_line(self, tmp_path: Path) -> None:
        """JSON allows them as they are; only a line feed ends a line."""
        line = '{"a": "x\u2028y\u0085z"}'

        assert read(tmp_path, line.encode()) == [line]

    @pytest.mark.parametrize(
        "content", [b'\xef\xbb\xbf{"a": 1}\r\n', b'{"a": 1}\r\n'], ids=["BOM", "CRLF"]
    )
    def test_messages_are_read_from_a_file_made_on_windows(
        self, tmp_path: Path, content: bytes
    ) -> None:
        assert read(tmp_path, content) == ['{"a": 1}']

    def test_messages_may_be_invalid_tickets(self, tmp_path: Path) -> None:
        assert read(tmp_path, b"{}") == ["{}"]


class TestRefused:
    """Each problem names the file, and the line where there is one."""

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            (b'{"a": 1}\n\n{"b": \n', "line 3: not a JSON object"),
            (b'{"a": 1}\n[1]\n', "line 2: not a JSON object"),
            (b"[" * 100_000, "line 1: not a JSON object"),
            (b"\xff\xfe{", "it is not UTF-8"),
            (b" \n\n", "holds no message"),
            (b"", "holds no message"),
        ],
    )
    def test_file_is_refused_with_its_name_and_line(
        self, tmp_path: Path, content: bytes, problem: str
    ) -> None:
        with pytest.raises(InputError) as refused:
            read(tmp_path, content)

        assert str(tmp_path / "my.jsonl") in str(refused.value)
        assert problem in str(refused.value)
        assert "\n" not in str(refused.value)

    def test_file_is_refused_when_it_is_missing_or_a_directory(
        self, tmp_path: Path
    ) -> None:
        with pytest.raises(InputError, match="No such file"):
            read_messages(tmp_path / "absent.jsonl")
        with pytest.raises(InputError, match="directory"):
            read_messages(tmp_path)
