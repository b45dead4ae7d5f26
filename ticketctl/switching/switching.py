"""Disables and enables the worker's event source mappings, and waits for the change.

A tag marks the mappings that `stop` disabled. So `start`, even in another shell a day
later, enables no mapping that was disabled for another reason.
"""

import time
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from botocore.exceptions import ClientError

from ticketctl.aws.aws_errors import Suppressed, is_denied
from ticketctl.aws.items import timestamp_now
from ticketctl.aws.stack import StackAccess, location_of
from ticketctl.aws.worker_state import (
    DISABLED,
    ENABLED,
    RESTORING,
    Source,
    WorkerState,
    worker_state,
)
from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import console, counted, note_if_interrupted, print_note

TAG: Final = "ticketctl:stopped"
_EVERY_SECONDS: Final = 5.0
_CHANGING: Final = {"ResourceInUseException", "ResourceConflictException"}
"""The error codes of a change during an earlier one."""
_UNFINISHED: Final = (
    "a restore has not come to its end, and a repeat of a request would get a second "
    f"number: run it again first, or take the tag {RESTORING} from the mappings"
)
_OFF: Final = {DISABLED, "Disabling"}


@dataclass
class Switch:
    """Stops or starts the worker of a stack."""

    stack: StackAccess
    sleep: Callable[[float], None] = field(default_factory=lambda: time.sleep)
    said: str = ""
    """The last note on the progress."""

    def stop(self) -> None:
        """Disable all mappings, and wait until the worker is stopped."""
        print_note(location_of(self.stack))
        sources: Sequence[Source] = ()

        def so_far() -> str:
            disabled = sum(source.state == DISABLED for source in sources)
            far = f"{disabled} of {counted(len(sources), 'mapping')} disabled"
            return f"the worker is not stopped: {far}; run it again, and it goes on"

        with note_if_interrupted(so_far):
            while not (state := self._state()).is_stopped:
                sources = state.sources
                for source in sources:
                    if source.state == ENABLED:
                        self._tag(source)
                        self._switch(source, on=False)
                self._say("; ".join(state.obstacles()))
                self.sleep(_EVERY_SECONDS)
        names = ", ".join(source.queue_name for source in state.sources)
        of = f": {counted(len(state.sources), 'mapping')}, of {names}" if names else ""
        console().print(f"the worker is stopped{of}", markup=False)

    def start(self) -> Status:
        """Enable the mappings that `stop` disabled, and print all others."""
        print_note(location_of(self.stack))
        sources = self._state().sources
        if not sources:
            console().print("nothing feeds the worker: it has no event source mapping")
            return Status.PROBLEM
        tags = {source.id: self._tags(source) for source in sources}
        if any(RESTORING in keys for keys in tags.values()):
            raise InputError(_UNFINISHED)
        own = [source for source in sources if TAG in tags[source.id]]
        started: list[Source] = []

        def so_far() -> str:
            far = f"{len(started)} of {counted(len(own), 'mapping')}"
            return f"started: {far}; run it again, and it goes on"

        with note_if_interrupted(so_far):
            for source in self._enabled([mapping.id for mapping in own]):
                started.append(source)
                console().print(f"started: the mapping of {source.queue_name}")
        left = [source for source in self._state().sources if source.state in _OFF]
        for source in left:
            print_note(
                f"{source.state}, and not by `stop`: the mapping of "
                f"{source.queue_name}; this starts it: aws lambda "
                f"update-event-source-mapping --uuid {source.id} --enabled"
            )
        if not (started or left):
            console().print("the worker runs already")
        return Status.PROBLEM if left and not started else Status.OK

    def _enabled(self, ids: Sequence[str]) -> Iterator[Source]:
        """Enable mappings; yield each as soon as it is enabled."""
        waiting = set(ids)
        while waiting:
            for source in self._state().sources:
                if source.id not in waiting:
                    continue
                if source.state == DISABLED:
                    self._switch(source, on=True)
                elif source.state == ENABLED:
                    untag = self.stack.client("lambda").untag_resource
                    untag(Resource=source.arn, TagKeys=[TAG])
                    waiting.remove(source.id)
                    yield source
            if waiting:
                self._say(f"{counted(len(waiting), 'mapping')} not enabled yet")
                self.sleep(_EVERY_SECONDS)

    def _state(self) -> WorkerState:
        return worker_state(self.stack)

    def _switch(self, source: Source, *, on: bool) -> None:
        with Suppressed(_CHANGING):
            self.stack.client("lambda").update_event_source_mapping(
                UUID=source.id, Enabled=on
            )

    def _tag(self, source: Source) -> None:
        """Tag a mapping for `start`; without the right it is stopped all the same."""
        try:
            self.stack.client("lambda").tag_resource(
                Resource=source.arn, Tags={TAG: timestamp_now()}
            )
        except ClientError as error:
            if not is_denied(error):
                raise
            print_note(
                f"`start` will not know the mapping of {source.queue_name}: {error}"
            )

    def _tags(self, source: Source) -> Container[str]:
        tags: Container[str] = self.stack.client("lambda").list_tags(
            Resource=source.arn
        )["Tags"]
        return tags

    def _say(self, progress: str) -> None:
        if progress != self.said:
            self.said = progress
            print_note(progress)
