"""A file that a command saves is there whole, or not at all."""

from errno import ENOSPC
from pathlib import Path

import pytest

from ticketctl.cli.errors import InputError
from ticketctl.files.whole_file import whole_file


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), OSError(ENOSPC, "No space left on device")]
)
def test_no_file_is_left_when_the_writing_ends_before_its_end(
    error: BaseException, tmp_path: Path
) -> None:
    def write() -> None:
        with whole_file(tmp_path / "saved") as file:
            file.write(b"a part")
            raise error

    with pytest.raises((KeyboardInterrupt, InputError)):
        write()

    assert not [*tmp_path.iterdir()]


def test_file_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "saved"

    with whole_file(path) as file:
        file.write(b"all of it")
        assert not path.exists()

    assert path.read_bytes() == b"all of it"
    assert path.stat().st_mode & 0o077 == 0
    assert [*tmp_path.iterdir()] == [path]


def test_file_that_came_meanwhile_is_kept_when_both_have_one_name(
    tmp_path: Path,
) -> None:
    path = tmp_path / "saved"

    def write() -> None:
        with whole_file(path) as file:
            path.write_bytes(b"another's")
            file.write(b"ours")

    with pytest.raises(InputError, match="exists"):
        write()

    assert path.read_bytes() == b"another's"
    assert [*tmp_path.iterdir()] == [path]
