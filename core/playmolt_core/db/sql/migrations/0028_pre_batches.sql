-- Model calls that travel in batches.
SET LOCAL ROLE playmolt_owner;

-- Questions of an experiment that wait for a batch, or for the run that asked to take what came. `name` is what the batch
-- was asked for under, `batch` its id. Answered with null, a question is to be asked plainly. `tokens` and `money` are
-- what was reserved for it.
CREATE TABLE lease.batch_call (
  key      bytea            PRIMARY KEY CHECK (octet_length(key) = 32),
  stream   text COLLATE "C" NOT NULL,
  alias    text COLLATE "C" NOT NULL,
  body     text             NOT NULL,
  at       timestamptz      NOT NULL DEFAULT clock_timestamp(),
  name     text COLLATE "C",
  batch    text COLLATE "C",
  answered boolean          NOT NULL DEFAULT false,
  answer   text,
  tokens   bigint           NOT NULL,
  money    numeric          NOT NULL
);
CREATE INDEX batch_call_stream ON lease.batch_call (stream, alias);

REVOKE ALL ON lease.batch_call FROM PUBLIC;
GRANT SELECT, INSERT, UPDATE, DELETE ON lease.batch_call TO playmolt_engine;
ALTER TABLE lease.batch_call ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON lease.batch_call TO playmolt_engine
  USING (log.type_of(stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(stream)])));
