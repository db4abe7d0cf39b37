SET LOCAL ROLE playmolt_owner;

-- Keys of which something remembered is no longer true, for an hour: a gateway asks for those of late instead of looking
-- each key up again.
CREATE TABLE account.void_key (
  hash bytea       PRIMARY KEY CHECK (octet_length(hash) = 32),
  at   timestamptz NOT NULL
);
CREATE INDEX void_key_at ON account.void_key (at);

-- `clock_timestamp()`: a transaction may have begun long before it gets here.
CREATE FUNCTION account.note_void_key() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  void bytea;
BEGIN
  IF TG_TABLE_NAME = 'api_key' THEN
    void := OLD.hash;
  ELSE
    -- Locked, so that a key that is being replaced is waited for, and not the one before it called void.
    SELECT k.hash INTO void FROM account.api_key AS k WHERE k.agent_id = OLD.id FOR SHARE;
  END IF;
  DELETE FROM account.void_key AS v WHERE v.hash IN (
    SELECT o.hash FROM account.void_key AS o
    WHERE o.at < clock_timestamp() - interval '1 hour' FOR UPDATE SKIP LOCKED
  );
  INSERT INTO account.void_key AS v (hash, at) SELECT void, clock_timestamp() WHERE void IS NOT NULL
  ON CONFLICT (hash) DO UPDATE SET at = excluded.at;
  RETURN NULL;
END $$;
CREATE TRIGGER note_void_key AFTER UPDATE OR DELETE ON account.api_key
FOR EACH ROW EXECUTE FUNCTION account.note_void_key();
CREATE TRIGGER note_void_key AFTER UPDATE ON account.agent FOR EACH ROW EXECUTE FUNCTION account.note_void_key();

REVOKE ALL ON account.void_key FROM PUBLIC;
REVOKE ALL ON FUNCTION account.note_void_key FROM PUBLIC;
GRANT SELECT ON account.void_key TO playmolt_gateway;
