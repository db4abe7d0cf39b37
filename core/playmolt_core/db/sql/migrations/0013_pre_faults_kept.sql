-- What refusals count as, kept until the game's closing event holds it: any replica may refuse, and any may close.
SET LOCAL ROLE playmolt_owner;

-- `told`: how often the one who closes the game has heard of it.
CREATE TABLE lease.fault (
  stream text    COLLATE "C" NOT NULL,
  agent  text    COLLATE "C" NOT NULL,
  kind   text    COLLATE "C" NOT NULL,
  what   text    COLLATE "C" NOT NULL,
  count  integer NOT NULL DEFAULT 1,
  told   integer NOT NULL DEFAULT 0,
  PRIMARY KEY (stream, agent, kind, what)
);

-- Counts a fault and says whether that was in time: the lock keeps a game from being closed meanwhile.
CREATE FUNCTION lease.note_fault(p_stream text, p_agent text, p_kind text, p_what text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  closed boolean;
BEGIN
  IF log.type_of(p_stream) <> ALL (coalesce(log.own_types(), ARRAY[log.type_of(p_stream)])) THEN
    RAISE insufficient_privilege USING MESSAGE = 'this login counts no faults in ' || p_stream;
  END IF;
  SELECT s.over INTO closed FROM log.stream AS s WHERE s.stream = p_stream FOR SHARE;
  IF closed IS DISTINCT FROM false THEN
    RETURN false;
  END IF;
  INSERT INTO lease.fault AS f (stream, agent, kind, what) VALUES (p_stream, p_agent, p_kind, p_what)
  ON CONFLICT (stream, agent, kind, what) DO UPDATE SET count = f.count + 1;
  RETURN true;
END $$;

-- The faults of a game, for its closing event.
CREATE FUNCTION lease.tell_faults(p_stream text) RETURNS TABLE (agent text, kind text, what text, count integer) ROWS 10
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  UPDATE lease.fault AS f SET told = f.count
  WHERE f.stream = p_stream AND log.type_of(f.stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(f.stream)]))
  RETURNING f.agent, f.kind, f.what, f.count
$$;

-- A game is not closed while faults are counted that its closing event cannot know of: `log.append` finds it unmoved, a
-- conflict, and the engine asks again.
CREATE FUNCTION log.hold_for_faults() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM lease.fault AS f WHERE f.stream = NEW.stream AND f.count > f.told) THEN
    RETURN NULL;
  END IF;
  DELETE FROM lease.fault AS f WHERE f.stream = NEW.stream;
  RETURN NEW;
END $$;
CREATE TRIGGER hold_for_faults BEFORE UPDATE ON log.stream FOR EACH ROW
  WHEN (NEW.over AND NOT OLD.over) EXECUTE FUNCTION log.hold_for_faults();

REVOKE ALL ON lease.fault FROM PUBLIC;
REVOKE ALL ON FUNCTION lease.note_fault, lease.tell_faults, log.hold_for_faults FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lease.note_fault, lease.tell_faults TO playmolt_engine;
