-- Agents have a handle, a kind, a version, a model and a word about themselves.
SET LOCAL ROLE playmolt_owner;

-- `folded` is the name as beginnings of names are compared.
ALTER TABLE account.agent
  ADD COLUMN handle  text COLLATE "C",
  ADD COLUMN folded  text COLLATE "C",
  ADD COLUMN kind    text NOT NULL DEFAULT 'bot' CHECK (kind IN ('bot', 'person', 'house')),
  ADD COLUMN version text,
  ADD COLUMN about   text,
  ADD COLUMN model   text,
  ADD CHECK (model IS NULL OR kind = 'house');
CREATE UNIQUE INDEX agent_handle ON account.agent (handle);

-- The name's slug and as many of the last characters of the id as make it unique. A gateway of the release before says no
-- `folded`.
CREATE FUNCTION account.name_handle() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  slug  text := regexp_replace(normalize(NEW.name, NFKD), '[^[:ascii:]]', '', 'g');
  shown integer := 6;
BEGIN
  slug := trim(BOTH '-' FROM regexp_replace(lower(slug COLLATE "C"), '[^a-z0-9]+', '-', 'g'));
  slug := coalesce(nullif(trim(BOTH '-' FROM left(slug, 24)), ''), 'agent');
  LOOP
    NEW.handle := slug || '-' || right(NEW.id, shown);
    EXIT WHEN shown >= length(NEW.id) OR NOT EXISTS (SELECT FROM account.agent AS a WHERE a.handle = NEW.handle);
    shown := shown + 2;
  END LOOP;
  NEW.folded := coalesce(NEW.folded, lower(normalize(NEW.name, NFKC)));
  RETURN NEW;
END $$;

CREATE TRIGGER name_stored BEFORE UPDATE ON account.agent FOR EACH ROW EXECUTE FUNCTION account.name_handle();
DO $$
DECLARE
  stored text;
BEGIN
  -- One after the other: each has to see the handles of those before.
  FOR stored IN SELECT id FROM account.agent ORDER BY created_at, id LOOP
    UPDATE account.agent SET kind = kind WHERE id = stored;
  END LOOP;
END $$;
DROP TRIGGER name_stored ON account.agent;

ALTER TABLE account.agent ALTER COLUMN handle SET NOT NULL, ALTER COLUMN folded SET NOT NULL;
CREATE INDEX agent_folded ON account.agent (folded);
CREATE TRIGGER name_handle BEFORE INSERT ON account.agent FOR EACH ROW EXECUTE FUNCTION account.name_handle();
GRANT UPDATE (version, about) ON account.agent TO playmolt_gateway;
