"""The stack's outputs as variables of a shell."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Final

from ticketctl.aws.outputs import LATER_OUTPUTS, NEEDED_OUTPUTS, variable_of
from ticketctl.aws.stack import Stack

UNSET: Final = "TICKETCTL_UNSET"
"""The variable with the command that unsets the stack's variables."""

_STRONGER_THAN_A_PROFILE: Final = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_DEFAULT_PROFILE",
)
"""The variables that boto3 reads before `AWS_PROFILE`."""

_PAGER: Final = "AWS_PAGER"
"""It is set empty, because version 2 of the AWS CLI would wait for a key."""

_WITH_THE_STACK: Final = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", _PAGER)
"""The variables of a stack that a shell may have already."""


def shell_lines(
    stack: Stack, profile: str | None, shell: Mapping[str, str]
) -> Iterator[str]:
    """Yield the lines that set a shell's variables for one stack.

    They include Region and profile, because several accounts and Regions can have the
    stack's name; the profile is None if the stack was found without one. The command to
    unset them restores the shell's own Region, profile and pager.
    """
    every = (*NEEDED_OUTPUTS, *LATER_OUTPUTS)
    names = [name for name in every if name in stack.outputs]
    named = {variable_of(name): stack.outputs[name] for name in names}
    named["TICKETCTL_STACK"] = stack.name
    named |= {"AWS_REGION": stack.region, "AWS_DEFAULT_REGION": stack.region}
    named[_PAGER] = ""
    if profile:
        yield " ".join(["unset", *_STRONGER_THAN_A_PROFILE])
        named["AWS_PROFILE"] = profile
    own = {name: shell[name] for name in _WITH_THE_STACK if name in shell}
    named[UNSET] = "; ".join([" ".join(["unset", *named, UNSET]), *exports(own)])
    yield from exports(named)


def exports(variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the commands that export variables."""
    for name, value in variables.items():
        yield f"export {name}={shlex.quote(value)}"
