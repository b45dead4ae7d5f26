"""The limits of a stack on requests, which parameters of its template set.

The worker and the command line share them.
"""

import re
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic.alias_generators import to_pascal
from pydantic_core import PydanticCustomError

from ticket_numbering.contract.errors import InvalidMessageError, PoisonMessageError
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.contract.reasons import Reason

_SLOW: Final = re.compile(
    ".*[)][*+{]|.*[(|][|)]|(.*[*+,]){4}|(.*[(*+?,]){6}"
    "|(?=.*[*+,])(?=.*[(].*[|])(.*[(*+?,]){5}"
)
"""Matches patterns for which one id could take the whole time of its batch.

A repeated group multiplies the ways to match without a bound, each of `*`, `+` and the
comma by an id's length, each `?` by two, a group by its alternatives. So at most three
of `*`, `+` and comma are allowed, five with `(` and `?`, and four with alternatives
and a repetition.
The template's `AllowedPattern` rejects the same.
"""


def _compiled(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    """Return the compiled pattern; Pydantic's own check lets OverflowError through."""
    try:
        compiled = re.compile(pattern)
        if not _SLOW.match(compiled.pattern):
            return compiled
        problem = f"can take too long: {compiled.pattern}: see docs/series.md"
    except (re.error, OverflowError) as error:
        problem = f"is no regular expression: {pattern}: {error}"
    raise PydanticCustomError("regular_expression", "{problem}", {"problem": problem})


class Limits(BaseModel):
    """The limits of a stack; by default it has none.

    The command line reads them from the stack's outputs (`AllowedProjects`), and the
    worker from its variables (`ALLOWED_PROJECTS`); a test checks that both exist.
    """

    model_config = ConfigDict(frozen=True, alias_generator=to_pascal)

    allowed_projects: Annotated[re.Pattern[str], BeforeValidator(_compiled)] = (
        re.compile(".*")
    )
    """Matches the whole id of each project that may have tickets."""

    def refusal(self, request: CreateTicket) -> PoisonMessageError | None:
        """Return the refusal of a valid request; None if the limits allow it.

        The error's type and field are part of the event's id.
        """
        if not self.allowed_projects.fullmatch(request.project_id):
            return InvalidMessageError(
                f"project_id: {request.project_id} does not match the stack's "
                f"AllowedProjects, {self.allowed_projects.pattern}",
                "project_id",
                Reason.NOT_ALLOWED,
            )
        return None
