SET LOCAL ROLE playmolt_owner;

-- Streams whose records were taken out of the log, and where they are. `positions` are those of the records that are no
-- longer here: with them the positions of the log are still without a hole.
CREATE TABLE log.archived (
  stream      text COLLATE "C" PRIMARY KEY,
  version     integer          NOT NULL CHECK (version > 0),
  hash        bytea            NOT NULL CHECK (octet_length(hash) = 32),
  positions   int8multirange   NOT NULL,
  file        text             NOT NULL,
  sha256      bytea            NOT NULL CHECK (octet_length(sha256) = 32),
  archived_at timestamptz      NOT NULL DEFAULT now()
);
CREATE INDEX archived_positions ON log.archived USING gist (positions);
CREATE INDEX archived_end ON log.archived (upper(positions)) WHERE NOT isempty(positions);

-- An archived stream stands at its version on a hash of zeros, which nothing can follow: append refuses it as it is.
ALTER TABLE log.stream ADD COLUMN archived boolean NOT NULL DEFAULT false;

-- What stands in the register may be deleted, but for the results: leaderboards are made from them.
CREATE OR REPLACE FUNCTION log.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'DELETE' AND TG_TABLE_NAME IN ('event', 'outcome') THEN
    IF EXISTS (SELECT FROM log.archived AS a WHERE a.stream = OLD.stream) THEN
      IF TG_TABLE_NAME = 'outcome' THEN
        RETURN OLD;
      ELSIF OLD.type <> 'game_end' THEN
        RETURN OLD;
      END IF;
    END IF;
  END IF;
  RAISE EXCEPTION 'log.% is append-only', TG_TABLE_NAME USING ERRCODE = 'feature_not_supported';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON log.archived FOR EACH ROW EXECUTE FUNCTION log.refuse();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log.archived FOR EACH STATEMENT EXECUTE FUNCTION log.refuse();

REVOKE ALL ON log.archived FROM PUBLIC;
GRANT SELECT ON log.archived TO playmolt_relay, playmolt_reader;
