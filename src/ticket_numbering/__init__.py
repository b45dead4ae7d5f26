"""Gapless ticket numbers, exactly one per idempotency key.

Messages asking for a new ticket arrive on SQS; every project's tickets get the
numbers 1, 2, 3, ... and each number is announced on SNS.
The promise, whatever is redelivered, retried, crashed or throttled:

1. Gapless and in order: a project's numbers are exactly 1..n at every moment.
2. Once per idempotency key: the same request has the same number for ever.
3. Announced at least once, with the same event id every time.
4. Nothing lost: a message goes once its number is announced or it is dead-lettered.
5. One bad message harms only itself.

Follow a message by reading in this order; imports point the same way:

    handler         Lambda entry: the batch contract, one outcome line a record
    startup         no garbage collection while the function starts
    worker          a batch: parse, collapse, group, allocate, announce, dead-letter
    records         a record of the batch as SQS delivers it
    outcomes        how an answer becomes the outcomes of records
    messages        CreateTicket in, TicketNumberAssigned out: the wire contracts
    fields          the types of their fields
    strict_json     a body as one JSON object, or a reason why not
    allocation      the algorithm: the sort key's maximum plus one, in a transaction
    cancellation    what the reasons of a cancelled block teach it
    memory          what a sandbox remembers of a project: its number, its crowd
    store_port      what it asks of a store
    ticket_store    its DynamoDB adapter
    ticket_items    the items, and what DynamoDB says of them
    announcements   the SNS adapter
    dead_letters    the SQS adapter
    batch_calls     their common part: packing, and every entry's fate
    aws_errors      which AWS errors pass by themselves
    settings        environment -> frozen settings; the only reader of the environment
    observability   logger, metrics and the metric names
    errors          the error tree: poison or transient
    bootstrap       builds the clients and picks the adapters, once per container
"""
