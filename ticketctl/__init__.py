"""Tools for people who run, watch and test the ticket numbering system.

Nothing here ships: what ships is `src/`.

The main job, shown (`make run`):

    __main__.py           the command line
    sample.py             messages to send, poison among them
    message_file.py       messages of one's own, from a file
    run.py                sends them, follows them to their ends, judges
    queues.py             what it does with queues and the topic
    audit.py              are the numbers in the tables exactly 1..n, one a key?
    report.py             what it prints
    errors.py             what a tool says when it cannot go on

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
