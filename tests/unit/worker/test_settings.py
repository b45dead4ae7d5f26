"""Settings come from the environment alone, once, validated."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.environment import ENVIRONMENT, TUNED
from ticket_numbering.function.settings import Settings

SECRET = "s3cret"


def refusal(environ: dict[str, str]) -> str:
    """Return why an environment is refused."""
    with pytest.raises(ValidationError) as caught:
        Settings.from_environ(environ)
    return str(caught.value)


def test_settings_take_each_variable_of_their_names_and_no_other() -> None:
    noise = {"PATH": "/bin", "max_attempts": "1", "AllowedProjects": "X", "": "x"}

    settings = Settings.from_environ(ENVIRONMENT | TUNED | noise)

    values = settings.model_dump(mode="json", by_alias=True)
    values |= values.pop("LIMITS")
    assert {name: str(value) for name, value in values.items()} == ENVIRONMENT | TUNED


def test_settings_bound_attempts_and_keep_a_reserve_by_default() -> None:
    """The others are parameters of the template, whose defaults they have."""
    settings = Settings.from_environ(ENVIRONMENT)

    assert (settings.max_attempts, settings.deadline_reserve_seconds) == (40, 10)


def test_settings_cannot_be_changed() -> None:
    settings: Any = Settings.from_environ(ENVIRONMENT)

    with pytest.raises(ValidationError, match="frozen"):
        settings.max_attempts = 1


class TestRefused:
    """A wrong environment stops the function before its first message."""

    @pytest.mark.parametrize("variable", ENVIRONMENT)
    def test_settings_name_a_variable_that_is_missing_or_empty(
        self, variable: str
    ) -> None:
        others = {name: ENVIRONMENT[name] for name in ENVIRONMENT if name != variable}

        assert variable in refusal(others)
        assert variable in refusal(others | {variable: ""})

    @pytest.mark.parametrize(
        ("variable", "values"),
        [
            ("IDEMPOTENCY_RETENTION_DAYS", ["-1", "1.5", ""]),
            ("MAX_ATTEMPTS", ["0", "many"]),
            ("DEADLINE_RESERVE_SECONDS", ["-0.1", "nan", "inf"]),
        ],
    )
    def test_settings_name_a_variable_that_is_malformed(
        self, variable: str, values: list[str]
    ) -> None:
        for value in values:
            assert variable in refusal(ENVIRONMENT | {variable: value})

    def test_settings_do_not_tell_the_rest_of_the_environment(self) -> None:
        """The environment holds credentials, and the error goes to a log."""
        rest = {"TICKETS_TABLE": "tickets", "PATH": "/bin"}

        reason = refusal({"A": SECRET} | rest | {"Z": SECRET})

        assert SECRET not in reason
