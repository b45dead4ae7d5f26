"""Tools for people who run, watch and test the ticket numbering system.

Nothing here ships: what ships is `src/`.

The command line:

    __main__.py, app.py   the commands, and the help of all of them
    commands/             a command each: reads options, calls, prints
    command.py            finds the stack for it, and fails in one line
    stack.py              a deployed system, known by its outputs
    errors.py             what goes wrong, and the exit status
    cloud_errors.py       what AWS says, as one line that says what to do
    output.py             text for people, JSON for scripts
    asking.py             yes or no, at a terminal
    contract.py           is this a valid request? As the worker judges it
    items.py              what the two tables hold
    lookup.py             show, list, find (lookup_report.py prints)
    sending/              send
    hearing/              watch
    auditing/             audit
    dead_letters/         dead-letters
    numbers/              seed, import, void
    stats/                stats
    pacing.py, queues.py  what several of them share
    signals.py            lets `kill` and a closed terminal do what Ctrl-C does

The main job, shown (`make run`):

    sample.py             messages to send, poison among them
    message_file.py       messages of one's own, from a file
    local_session.py      run, and up
    run.py                sends them, follows them to their ends, judges
    report.py             what it prints
    pictures.py           the terminals of the README
    shell_file.py         leads a shell to the local system

The whole system on this machine:

    artifact.py           src/ -> the zip file that the function runs from
    clients.py            clients of one emulator that can reach nothing else
    isolation.py          what the emulator and the function may see
    emulator_launcher.py  runs inside the emulator's own environment
    emulator.py           one emulator process, gone when its starter is
    deployment.py         template.yaml and the zip file -> a running stack
    local_stack.py        all of these together
    trim.py               takes out of an artifact what the worker never opens
    bridge.py             lets the function's container reach the emulator
    sam_files.py          what `sam local invoke` needs to know of the system

Files that are generated and checked in (`make contracts`, `make events`):

    contracts.py          the documents below docs/: of these,
    schemas.py            JSON Schemas of the messages
    asyncapi.py           the AsyncAPI document
    asyncapi_messages.py  and its messages
    events.py             sample events of the function, below events/
    poison.py             a body for each kind of poison
    sqs_records.py        records as SQS delivers them
    generated.py          write, or tell what has drifted
"""
