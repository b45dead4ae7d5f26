"""Settings come from the environment alone, once, validated."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.cases import cases
from ticket_numbering.settings import Settings

ENVIRONMENT = {
    "TICKETS_TABLE": "tickets",
    "IDEMPOTENCY_KEYS_TABLE": "keys",
    "ASSIGNMENTS_TOPIC_ARN": "arn:aws:sns:eu-west-1:123456789012:assignments",
    "DEAD_LETTER_QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/123456789012/dead",
}
SECRET = "s3cret"


def refusal(environ: dict[str, str]) -> str:
    """Return why an environment is refused."""
    with pytest.raises(ValidationError) as caught:
        Settings.from_environ(environ)
    return str(caught.value)


class TestSettings:
    """Resources must be named; tuning has defaults."""

    def test_settings_take_resources_from_the_environment(self) -> None:
        """Each name comes from the variable of the same name."""
        settings = Settings.from_environ(ENVIRONMENT)

        assert settings.tickets_table == "tickets"
        assert settings.idempotency_keys_table == "keys"
        assert settings.assignments_topic_arn.endswith(":assignments")
        assert settings.dead_letter_queue_url.endswith("/dead")

    def test_settings_have_defaults_for_tuning(self) -> None:
        """Keys are kept for ever unless somebody says otherwise."""
        settings = Settings.from_environ(ENVIRONMENT)

        assert settings.idempotency_retention_days == 0
        assert settings.max_attempts == 25
        assert settings.deadline_reserve_seconds == pytest.approx(10)

    def test_settings_take_tuning_from_the_environment(self) -> None:
        """Numbers are read from text."""
        settings = Settings.from_environ(
            ENVIRONMENT
            | {
                "IDEMPOTENCY_RETENTION_DAYS": "90",
                "MAX_ATTEMPTS": "7",
                "DEADLINE_RESERVE_SECONDS": "2.5",
            }
        )

        assert settings.idempotency_retention_days == 90
        assert settings.max_attempts == 7
        assert settings.deadline_reserve_seconds == pytest.approx(2.5)

    def test_settings_take_a_name_of_one_letter(self) -> None:
        """How long a name must be is for the service to say."""
        settings = Settings.from_environ(ENVIRONMENT | {"TICKETS_TABLE": "t"})

        assert settings.tickets_table == "t"

    def test_settings_ignore_other_variables(self) -> None:
        """An environment holds more than ours, in any spelling."""
        environ = ENVIRONMENT | {"PATH": "/bin", "max_attempts": "1", "": "x"}

        assert Settings.from_environ(environ) == Settings.from_environ(ENVIRONMENT)

    def test_settings_read_the_process_environment_unless_given_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is set now counts, not what was set when the code was loaded."""
        for name, value in ENVIRONMENT.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("TICKETS_TABLE", "set-a-moment-ago")

        assert Settings.from_environ().tickets_table == "set-a-moment-ago"

    def test_settings_cannot_be_changed(self) -> None:
        """What was validated stays valid."""
        settings: Any = Settings.from_environ(ENVIRONMENT)

        with pytest.raises(ValidationError, match="frozen"):
            settings.max_attempts = 1


class TestRefused:
    """A wrong environment stops the function before its first message."""

    @pytest.mark.parametrize("variable", ENVIRONMENT)
    def test_settings_name_a_missing_variable(self, variable: str) -> None:
        """The error names the variable as one has to set it."""
        environ = {name: ENVIRONMENT[name] for name in ENVIRONMENT if name != variable}

        assert variable in refusal(environ)

    @pytest.mark.parametrize("variable", ENVIRONMENT)
    def test_settings_name_an_empty_variable(self, variable: str) -> None:
        """Set to nothing is not set."""
        assert variable in refusal(ENVIRONMENT | {variable: ""})

    def test_settings_name_every_wrong_variable_at_once(self) -> None:
        """One look at the error is enough."""
        reason = refusal({})

        assert all(variable in reason for variable in ENVIRONMENT)

    @pytest.mark.parametrize(
        ("variable", "value"),
        cases(
            {
                "retention-negative": ("IDEMPOTENCY_RETENTION_DAYS", "-1"),
                "retention-fraction": ("IDEMPOTENCY_RETENTION_DAYS", "1.5"),
                "retention-empty": ("IDEMPOTENCY_RETENTION_DAYS", ""),
                "attempts-none": ("MAX_ATTEMPTS", "0"),
                "attempts-words": ("MAX_ATTEMPTS", "many"),
                "reserve-negative": ("DEADLINE_RESERVE_SECONDS", "-0.1"),
                "reserve-nan": ("DEADLINE_RESERVE_SECONDS", "nan"),
                "reserve-endless": ("DEADLINE_RESERVE_SECONDS", "inf"),
            }
        ),
    )
    def test_settings_name_a_variable_that_makes_no_sense(
        self, variable: str, value: str
    ) -> None:
        """Tuning that would stop the worker is refused."""
        assert variable in refusal(ENVIRONMENT | {variable: value})

    @pytest.mark.parametrize("position", ["first", "last"])
    def test_settings_do_not_tell_the_rest_of_the_environment(
        self, position: str
    ) -> None:
        """The environment holds credentials, and the error goes to a log."""
        secret = {"AWS_SESSION_TOKEN": SECRET}
        rest = {"TICKETS_TABLE": "tickets", "PATH": "/bin"}

        environ = secret | rest if position == "first" else rest | secret

        assert SECRET not in refusal(environ)
