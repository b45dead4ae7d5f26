"""What must never reach the log, whatever level an operator sets."""

import logging

import pytest

import ticket_numbering.observability  # noqa: F401 - it sets the levels.


@pytest.mark.parametrize("library", ["boto3", "botocore.endpoint", "urllib3.util"])
def test_libraries_that_log_requests_stay_silent_when_all_is_logged(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lambda sets the root logger's level to the template's LogLevel."""
    monkeypatch.setattr(logging.getLogger(), "level", logging.DEBUG)

    assert not logging.getLogger(library).isEnabledFor(logging.INFO)
