"""Gapless ticket numbers, exactly one per idempotency key.

Requests for tickets arrive on SQS; the tickets of every project get the numbers
1, 2, 3, ... and each number is announced on SNS. `README.md` has the promises that
hold through redelivery, retries, crashes and throttling.

Follow a message by reading in this order:

    function/
      lambda_function   the entry point that Lambda loads
      bootstrap         clients and adapters
      settings          environment -> frozen settings; nothing else reads it
    worker/
      handler           the partial-batch response, outcome lines, metrics
      worker            a batch: parse, deduplicate, allocate, announce, dead-letter
      batch_progress    the results of the batch, their announcement, the retries
      turns             tasks that release their thread while they back off
      sqs_record        a record of the batch as SQS delivers it
      results           the result of a record: one of five classes
      events            makes every event and its envelope
      ports             the publisher and the dead-letter queue
      observability     logger, metrics and the metric names
    allocation/
      allocation        the algorithm: the sort key's maximum plus one, in a transaction
      progress          the requests of one project in a batch: pending or settled
      cancellation      pure: the reasons of a cancelled block -> the next step
      block             the tickets of one transaction, chained, within AWS's limits
      store             the store's port, and its reasons
      line              the queue of a contended project's workers; gives no numbers
      place             a place in the line, the line's port, the bounds of a wait
      backoff           adaptive backoff per project
      sequence_cache    the head after the last own block, for milliseconds
    adapters/
      dynamodb_store    the store on DynamoDB
      dynamodb_line     the line on DynamoDB
      cancellation_reasons  DynamoDB's reasons for a cancelled block, by position
      sns_publisher     the publisher on SNS
      sqs_dead_letters  the dead-letter queue on SQS
      batch_api         batch calls: packing, timeouts, and the fate of every entry
      aws_errors        AWS errors: transient, rejections, unknown
    contract/
      messages          CreateTicket: the request, its identity and its number
      limits            the requests that a stack allows
      events            the events TicketNumberAssigned and TicketRefused
      mark_events       TicketVoided and TicketErased
      envelope          an event with its message attributes
      attributes        message attributes, those of a dead letter, FIFO names
      field_types       the types of the fields
      values            bounds and values of fields, for readers without Pydantic
      json_body         a body as one JSON object, or the reason why not
      chain             each ticket's hash, which covers the one before it
      head              the last item of a sequence: its number, date and chain
      dynamodb_items    the items of the two tables
      aws_codes         AWS's error codes by their meaning
      checksum          the checksum of a response of DynamoDB
      errors            the error tree: poison or transient
      time_left         the time that is left of the invocation

The adapters implement the ports of `allocation` and `worker`, and import both; any
other package imports only those below it.
The command line shares `contract`, which needs neither boto3 nor Powertools.
"""
