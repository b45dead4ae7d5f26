"""Tools for people who run, watch and test the ticket numbering system.

Nothing here ships with the worker, and of the worker only its contract is used.

    commands/  the application, and a module for each command: options, calls, prints
    local/     the whole system on this machine; needs a checkout
    aws/       a deployed system: stack, queues, tables, rate limiter
    cli/       prompts, output, errors and exit statuses

Each other package does the work of the command that it is named for, and stands between
`commands` and `aws`; `sequences` does that of seed, void and erase.
"""

__version__ = "0.1.0"
