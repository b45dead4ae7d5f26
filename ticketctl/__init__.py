"""Tools for people who run, watch and test the ticket numbering system.

Nothing here ships with the worker, and of the worker only its contract is used.

    cli/       the application: which stack, prompts, output, exit statuses
    commands/  a command each: reads options, calls, prints
    system/    a deployed system: stack, queues, tables, rate limiter
    local/     the whole system on this machine

Each other package does the work of the command that it is named for; `sequences` that
of seed, import and void.
"""
