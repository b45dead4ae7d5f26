"""`ticketctl env` leads a shell to one stack, or to none."""

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.markdown_commands import blocks
from tests.support.paths import ROOT
from tests.support.stage import Stage

[LINE] = [
    block
    for block in blocks((ROOT / "docs" / "on-call.md").read_text(), "sh")
    if "TICKETCTL_UNSET" in block
]
"""The command of the operators' page."""

ODD = 'INV-20[0-9]{2}|(A|B)\'s $x `y` "z"\n\\w'


def printed(stage: Stage, *options: str) -> str:
    """Return the command's output for a stack with odd characters."""
    stage.outputs["AllowedProjects"] = ODD
    return stage.call(*options, "env").out


def shell(folder: Path, *lines: str, **variables: str) -> str:
    """Run lines in a shell that finds only our program; return its output."""
    ended = subprocess.run(  # noqa: S603 - our own lines.
        ["/bin/bash", "-c", "\n".join(lines)],
        env={"PATH": f"{folder}:/usr/bin:/bin", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.stdout


def program(folder: Path, text: str, status: int = 0) -> None:
    """Put a program into a folder that prints a text as `ticketctl env` would."""
    path = folder / "ticketctl"
    path.write_text(f"#!/bin/sh\nprintf %s {shlex.quote(text)}\nexit {status}\n")
    path.chmod(0o755)


SHOWN: Mapping[str, str] = {
    "ALLOWED_PROJECTS": ODD,
    "TICKETCTL_STACK": "numbers",
    "TICKETS_TABLE_NAME": "tickets",
    "AWS_REGION": "eu-west-1",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_PAGER": "",
}


@pytest.mark.parametrize("name", SHOWN)
def test_variable_has_its_value_whatever_characters_it_has(
    name: str, tmp_path: Path, stage: Stage
) -> None:
    program(tmp_path, printed(stage))

    own = {"AWS_REGION": "elsewhere", "AWS_PAGER": "less"}
    said = shell(tmp_path, LINE, f'printf %s "${name}"', **own)

    assert said == SHOWN[name]


@pytest.mark.parametrize("profile", [(), ("--profile", "prod")])
@pytest.mark.parametrize("own", ["", "us-east-1"])
def test_own_region_alone_is_left_when_the_next_stack_is_not_found(
    profile: tuple[str, ...],
    own: str,
    tmp_path: Path,
    stage: Stage,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = tmp_path / "before"
    before.mkdir()
    variables = dict.fromkeys(("AWS_REGION", "AWS_DEFAULT_REGION"), own) if own else {}
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    program(before, printed(stage, *profile))
    program(tmp_path, "", status=3)
    of_stack = "$TICKETCTL_STACK+$TICKETS_TABLE_NAME+$TICKETCTL_UNSET+$AWS_PROFILE"
    look = f'printf "$?+{of_stack}+$AWS_REGION+$AWS_DEFAULT_REGION"'

    said = shell(
        tmp_path,
        f"PATH={before}:$PATH",
        LINE,
        'PATH="${PATH#*:}"',
        LINE,
        look,
        **variables,
    )

    assert said == f"3+++++{own}+{own}"


@pytest.mark.parametrize(
    ("profile", "said"),
    [((), "key+mine"), (("--profile", "prod of us"), "+prod of us")],
)
def test_profile_that_found_the_stack_wins_over_other_credentials(
    profile: tuple[str, ...], said: str, tmp_path: Path, stage: Stage
) -> None:
    program(tmp_path, printed(stage, *profile))
    given = {"AWS_ACCESS_KEY_ID": "key", "AWS_PROFILE": "mine"}

    look = 'printf "$AWS_ACCESS_KEY_ID+$AWS_PROFILE"'
    assert shell(tmp_path, LINE, look, **given) == said
