-- Amazon Athena: an audit of both tables, exported as of the same second.
-- $ aws dynamodb export-table-to-point-in-time --table-arn "arn:aws:dynamodb:eu-west-1:123456789012:table/$TICKETS_TABLE_NAME" --s3-bucket my-exports --s3-prefix tickets --export-time 2026-11-21T10:00:00Z
-- $ aws dynamodb export-table-to-point-in-time --table-arn "arn:aws:dynamodb:eu-west-1:123456789012:table/$IDEMPOTENCY_KEYS_TABLE_NAME" --s3-bucket my-exports --s3-prefix keys --export-time 2026-11-21T10:00:00Z
-- $ aws dynamodb describe-export --export-arn "$EXPORT_ARN" --query ExportDescription.ExportStatus
-- An export takes no read units; it costs some $0.10 a GB, and its storage until you delete it.
-- Run each statement by itself; put the folders of your exports into the locations.
-- Both queries may show tickets that were written at that second: check these with `ticketctl audit --project PROJ`.

CREATE EXTERNAL TABLE exported_tickets (item struct<
  project_id:struct<s:string>, number:struct<n:string>, idempotency_key:struct<s:string>,
  origin:struct<s:string>, reserved_up_to:struct<n:string>>)
ROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'
LOCATION 's3://my-exports/tickets/AWSDynamoDB/01795322400000-0d1e2f3a/data/';

CREATE EXTERNAL TABLE exported_keys (item struct<
  project_id:struct<s:string>, number:struct<n:string>, idempotency_key:struct<s:string>>)
ROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'
LOCATION 's3://my-exports/keys/AWSDynamoDB/01795322400000-4b5c6d7e/data/';

CREATE VIEW tickets AS
SELECT item.project_id.s AS project_id, CAST(item.number.n AS bigint) AS number,
  item.idempotency_key.s AS idempotency_key, COALESCE(item.origin.s, '') AS origin,
  CAST(COALESCE(item.reserved_up_to.n, '0') AS bigint) AS reserved_up_to
FROM exported_tickets;

CREATE VIEW key_records AS
SELECT item.project_id.s AS project_id, CAST(item.number.n AS bigint) AS number,
  item.idempotency_key.s AS idempotency_key
FROM exported_keys;

-- Gaps and unfinished seeds.
SELECT project_id, previous + 1 AS first_missing, number - 1 AS last_missing
FROM (
  SELECT project_id, number, origin, reserved_up_to,
    lag(number, 1, 0) OVER project AS previous,
    lag(origin, 1, '') OVER project AS previous_origin,
    lag(reserved_up_to, 1, 0) OVER project AS previous_up_to
  FROM tickets
  WINDOW project AS (PARTITION BY project_id ORDER BY number)
) AS neighbours
WHERE number - previous > 1
  AND NOT (origin = 'elsewhere' AND reserved_up_to <= number
    AND previous_origin = 'elsewhere' AND previous_up_to <> previous);

-- Keys and tickets that do not match; a request with two tickets shows as one of them.
SELECT COALESCE(ticket.project_id, record.project_id) AS project_id,
  COALESCE(ticket.idempotency_key, record.idempotency_key) AS idempotency_key,
  ticket.number AS number, record.number AS recorded
FROM (SELECT * FROM tickets WHERE idempotency_key IS NOT NULL) AS ticket
FULL OUTER JOIN key_records AS record
  ON record.project_id = ticket.project_id
  AND record.idempotency_key = ticket.idempotency_key
WHERE ticket.number IS NULL OR record.number IS NULL OR ticket.number <> record.number;
