"""The records of a batch: the request of each, and its result once that is final."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ticket_numbering.allocation.progress import Allocation
from ticket_numbering.contract.messages import (
    Assignment,
    CreateTicket,
    RequestIdentity,
    RequestKey,
)
from ticket_numbering.worker.announcing import with_event
from ticket_numbering.worker.observability import logger
from ticket_numbering.worker.project_task import ProjectTask, caught
from ticket_numbering.worker.results import (
    Pending,
    Poison,
    Refused,
    Result,
    Retry,
    deduplicate,
    resolve,
    retry,
)


@dataclass(slots=True)
class Batch:
    """The parsed records, and the answers to their requests so far."""

    entries: Sequence[Pending | Poison | Retry]
    """One a record, in the order of the batch."""
    source: str
    """The stack, as the CloudEvents source of every event."""
    padding: int
    """The digits of a number for display, at least."""
    recorded: Mapping[RequestKey, Assignment | Exception] = field(default_factory=dict)
    """The earlier answers that a lookup found."""
    tasks: Mapping[str, ProjectTask] = field(default_factory=dict)
    """The tasks that answer the others, by project."""
    _tried: Mapping[RequestIdentity, Pending] = field(init=False)
    """The record whose request is tried for all that are equal."""
    _results: dict[int, Result] = field(default_factory=dict)
    """The final results by place."""

    def __post_init__(self) -> None:
        self._tried = deduplicate(self.pending)

    @property
    def pending(self) -> list[Pending]:
        """The records that hold a request."""
        return [entry for entry in self.entries if isinstance(entry, Pending)]

    @property
    def is_fifo(self) -> bool:
        """Whether the records are of a FIFO queue."""
        return any(entry.record.is_fifo for entry in self.entries)

    @property
    def projects(self) -> Mapping[str, Sequence[CreateTicket]]:
        """The requests of each project that have no earlier answer."""
        projects: dict[str, list[CreateTicket]] = defaultdict(list)
        for entry in self._tried.values():
            if entry.request.key not in self.recorded:
                projects[entry.request.project_id].append(entry.request)
        return projects

    @property
    def allocations(self) -> list[Allocation]:
        """One a project that numbers were tried for."""
        return [task.allocation for task in self.tasks.values()]

    def newly_answered(self) -> list[Result]:
        """Return the results that are final, but were not at the last call.

        The answer to a request is final once no request of its key is pending: until
        then an equal one's number can replace a refusal. Not to be called while a task
        runs.
        """
        pending = {one.key for progress in self.allocations for one in progress.pending}
        return [
            self._result(place)
            for place, entry in enumerate(self.entries)
            if place not in self._results
            and not (isinstance(entry, Pending) and entry.request.key in pending)
        ]

    def results(self) -> list[Result]:
        """Return the result of each record; a request still pending has failed."""
        return [self._result(place) for place in range(len(self.entries))]

    def _result(self, place: int) -> Result:
        if place not in self._results:
            entry = self.entries[place]
            result = self._resolved(entry) if isinstance(entry, Pending) else entry
            self._results[place] = self._announceable(result)
        return self._results[place]

    def _resolved(self, entry: Pending) -> Result:
        request, is_new = entry.request, False
        answer: Assignment | Exception | None = self.recorded.get(request.key)
        if answer is None:
            allocation = self.tasks[request.project_id].allocation
            answer = allocation.answer_to(request)
            was_tried = entry is self._tried[request.identity]
            is_new = was_tried and request.key in allocation.assigned
        return resolve(
            entry, answer, new=is_new, source=self.source, padding=self.padding
        )

    def _announceable(self, result: Result) -> Result:
        """Return a refusal with its event; a bug in it harms no neighbour."""
        found = caught(lambda: with_event(result, self.source))
        if not isinstance(found, Exception):
            return found
        logger.error("a refusal cannot be announced", exc_info=found)
        return retry(result, found) if isinstance(result, Refused) else result
