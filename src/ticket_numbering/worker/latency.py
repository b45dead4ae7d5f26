"""The wait of requests: from their sending to the announcement of their numbers."""

from collections.abc import Iterable, Mapping

from ticket_numbering.worker.results import Numbered, Result

MILLISECONDS = 1000


def seconds_to_announced(
    results: Iterable[Result], accepted_at: Mapping[str, float]
) -> list[float]:
    """Return the wait of each announced number, that of its oldest message.

    A redelivered message has waited since it was sent; a redriven one is a new message.
    """
    sent_at: dict[str, int] = {}
    for result in results:
        # Without the time in an event made by hand.
        if isinstance(result, Numbered) and (sent := result.record.sent_at):
            event_id = result.event.id
            sent_at[event_id] = min(sent, sent_at.get(event_id, sent))
    return [
        # The clocks of SQS and of the function may differ.
        max(0.0, accepted_at[event_id] - sent / MILLISECONDS)
        for event_id, sent in sent_at.items()
        if event_id in accepted_at
    ]
