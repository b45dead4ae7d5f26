"""Settings of every test: credentials that lead nowhere, and no deadlines."""

import gc
import os
import signal
from functools import cache

import botocore.session
import pytest
import typer
from hypothesis import settings

# A slow machine is no failure; how long a test may take is pytest's business.
settings.register_profile("project", deadline=None)
settings.load_profile("project")

# A background process ignores Ctrl-C, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

_USERS = {name: text for name, text in os.environ.items() if name[:4] == "AWS_"}

# No test reaches AWS, but those that `--stack` lets.
os.environ.update(
    AWS_ACCESS_KEY_ID="test",
    AWS_SECRET_ACCESS_KEY="test",
    AWS_DEFAULT_REGION="eu-west-1",
    AWS_EC2_METADATA_DISABLED="true",
)
# Nor does a test see whose account or screen this is.
for name in (
    *("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN", "AWS_REGION"),
    *("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "COLUMNS", "LINES"),
):
    os.environ.pop(name, None)

# Every session reads the descriptions of the services, for a fifth of a second.
botocore.session.create_loader = cache(botocore.session.create_loader)

# Each call of the command line builds all commands, which takes longer than most work.
# Tests add some of their own.
_build = typer.main.get_command
_built = cache(lambda application, *_commands: _build(application))
typer.main.get_command = lambda typer_instance: _built(
    typer_instance, *typer_instance.registered_commands
)


# Most tests make many objects and few cycles, which Python looks for every 700 objects.
gc.set_threshold(50_000)


def pytest_collection_finish() -> None:
    """Keep the collector away from what is loaded, which each mutant's run shares."""
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--stack",
        metavar="NAME",
        help="Run the tests of any stack on this one, of your account, for trials.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let the tests of a stack see whose account it is of."""
    if config.getoption("stack"):
        for name in [name for name in os.environ if name[:4] == "AWS_"]:
            del os.environ[name]
        os.environ.update(_USERS)


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Put the long tests first again: pytest-randomly has shuffled the files."""
    if config.getoption("stack"):
        others = [item for item in items if not item.get_closest_marker("any_stack")]
        items[:] = [item for item in items if item not in others]
        config.hook.pytest_deselected(items=others)
    places = config.getini("testpaths")
    items.sort(key=lambda item: [not item.nodeid.startswith(path) for path in places])
