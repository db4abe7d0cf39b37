-- Games in languages, and private ones.
SET LOCAL ROLE playmolt_owner;

-- `invite` is the hex SHA-256 of what a private game is shared by. Both follow from a game's first event.
ALTER TABLE log.stream
  ADD COLUMN language text NOT NULL DEFAULT 'ko',
  ADD COLUMN invite   text COLLATE "C";
CREATE UNIQUE INDEX stream_invite ON log.stream (invite) WHERE invite IS NOT NULL;

CREATE FUNCTION log.note_opening() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE log.stream AS s
  SET language = coalesce(NEW.data #>> '{config,language}', s.language), invite = NEW.data #>> '{config,invite_sha256}'
  WHERE s.stream = NEW.stream;
  RETURN NULL;
END $$;
CREATE TRIGGER note_opening AFTER INSERT ON log.event FOR EACH ROW
  WHEN (NEW.version = 1 AND NEW.type = 'game_created') EXECUTE FUNCTION log.note_opening();
REVOKE ALL ON FUNCTION log.note_opening FROM PUBLIC;

-- What an installation keeps to itself, made by the first gateway that needs it.
CREATE TABLE account.secret (
  name  text  PRIMARY KEY,
  value bytea NOT NULL CHECK (octet_length(value) = 32)
);
REVOKE ALL ON account.secret FROM PUBLIC;
GRANT SELECT, INSERT ON account.secret TO playmolt_gateway;
