"""The commands that stop and start the worker."""

import typer

from ticketctl.commands.application import OPERATIONS, command, stack_of


@command(OPERATIONS, "ticketctl stop")
def stop(ctx: typer.Context) -> None:
    """Stop the worker, and wait until nothing of it runs: messages stay on the queue.

    It disables each event source mapping of the function, of other queues too, and
    waits until nothing is in flight and the last invocation has had the function's
    timeout. Ctrl-C ends the waiting, not the stopping; run it again to go on.
    """
    from ticketctl.switching.switching import Switch

    Switch(stack_of(ctx)).stop()


@command(OPERATIONS, "ticketctl start")
def start(ctx: typer.Context) -> None:
    """Start the worker: the event source mappings that `ticketctl stop` has stopped.

    It names any other that is disabled, with the command that starts it, and ends with
    status 1 if there are only such.
    """
    from ticketctl.switching.switching import Switch

    raise typer.Exit(Switch(stack_of(ctx)).start())
