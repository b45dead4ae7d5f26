"""The picture of a conflict and a collision is that of a history."""

from tools.history_picture import PICTURE, drawn


def test_picture_is_what_the_command_draws() -> None:
    """After a change of the model or the worker: `make pictures`."""
    assert PICTURE.read_text("utf-8") == drawn()
