"""The projects that may have tickets, as the stack's AllowedProjects limits them."""

import re

from ticketctl.aws.stack import System
from ticketctl.cli.errors import CloudError


def allowed_projects(stack: System) -> re.Pattern[str]:
    """Return the pattern of the whole ids of the projects that may have tickets.

    Raises:
        CloudError: It is no regular expression, so the worker does not start either.
    """
    pattern = stack.outputs["AllowedProjects"]
    try:
        return re.compile(pattern)
    except (re.error, OverflowError) as error:
        raise CloudError(
            f"the stack's AllowedProjects is no regular expression: {pattern}: {error}"
        ) from error


def project_problem(project_id: str, allowed: re.Pattern[str]) -> str | None:
    """Return why the worker refuses the project; None if it does not."""
    if allowed.fullmatch(project_id):
        return None
    return (
        f"project_id: {project_id} does not match the stack's AllowedProjects, "
        f"{allowed.pattern}"
    )
