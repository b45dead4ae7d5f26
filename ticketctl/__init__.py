"""Tools for people who run, watch and test the ticket numbering system.

Nothing here ships with the worker, and of the worker only its contract is used.

    commands/  the application, and a module for each command: options, calls, prints
    local/     the whole system on this machine; needs a checkout
    evidence/  the chain's rules, and what an audit can find
    files/     the lines of JSONL and CSV files
    aws/       a deployed system: stack, queues, tables, topic, retries
    cli/       prompts, output, errors and exit statuses

Each other package does the work of the command that it is named for, and knows none of
its kind unless it composes them; `sequences` does that of seed, void and erase.
"""

__version__ = "0.1.0"
