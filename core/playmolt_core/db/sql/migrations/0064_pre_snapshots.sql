SET LOCAL ROLE playmolt_owner;

-- States as of a version, so that a stream that never ends is not folded from its first event. They can be made again of
-- the log, and one whose record is another by now is not used.
CREATE TABLE lease.snapshot (
  stream  text     COLLATE "C" NOT NULL,
  shard   smallint NOT NULL,
  version integer  NOT NULL CHECK (version > 0),
  hash    bytea    NOT NULL CHECK (octet_length(hash) = 32),
  state   json     NOT NULL,
  PRIMARY KEY (stream, shard)
);

REVOKE ALL ON lease.snapshot FROM PUBLIC;
GRANT SELECT, INSERT, UPDATE ON lease.snapshot TO playmolt_engine;
ALTER TABLE lease.snapshot ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON lease.snapshot TO playmolt_engine
  USING (log.type_of(stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(stream)])));
