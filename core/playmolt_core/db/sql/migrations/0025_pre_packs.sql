-- Cases of one's own: packs under their digest, who offers them, and which session plays which.
CREATE SCHEMA pack AUTHORIZATION playmolt_owner;
SET LOCAL ROLE playmolt_owner;

-- A row a pack, under the digest that names its files; whoever reads it computes the digest again.
CREATE TABLE pack.files (
  digest text COLLATE "C" PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
  files  bytea            NOT NULL CHECK (octet_length(files) <= 2097152),
  at     timestamptz      NOT NULL DEFAULT clock_timestamp()
);

-- What new sessions may name: of each who brings cases (an agent's id, or '' for the operator) one pack an id. `about`
-- is what a list shows of it.
CREATE TABLE pack.offer (
  owner  text COLLATE "C" NOT NULL,
  id     text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL REFERENCES pack.files,
  about  json             NOT NULL,
  at     timestamptz      NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (owner, id)
);
CREATE INDEX offer_digest ON pack.offer (digest);

-- Which pack a session plays: it stays for as long as the session.
CREATE TABLE pack.played (
  stream text COLLATE "C" PRIMARY KEY,
  digest text COLLATE "C" NOT NULL REFERENCES pack.files,
  at     timestamptz      NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX played_digest ON pack.played (digest);

-- Packs that a session names and no engine has: /readyz tells them.
CREATE TABLE pack.missing (
  digest text COLLATE "C" PRIMARY KEY,
  at     timestamptz      NOT NULL DEFAULT clock_timestamp()
);

-- Refuses logins that do not play juries.
CREATE FUNCTION pack.check_login() RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF 'jury' <> ALL (coalesce(log.own_types(), ARRAY['jury'])) THEN
    RAISE EXCEPTION '% has no packs of juries', session_user USING ERRCODE = 'insufficient_privilege';
  END IF;
END $$;

-- Lays files down, to be checked by an engine, which takes what is at fault away again.
CREATE FUNCTION pack.bring(p_digest text, p_files bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO pack.files AS f (digest, files) VALUES (p_digest, p_files)
  ON CONFLICT (digest) DO UPDATE SET at = clock_timestamp()
$$;

CREATE FUNCTION pack.read(p_digest text) RETURNS bytea
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pack.check_login();
  RETURN (SELECT f.files FROM pack.files AS f WHERE f.digest = p_digest);
END $$;

-- Offers a pack that lies here in place of the one its owner had under that id. Gives 'new', 'same' where it is offered
-- already, 'taken' where the operator has the id, and 'full' where its owner has p_most others.
CREATE FUNCTION pack.offer(p_owner text, p_id text, p_digest text, p_about json, p_most integer) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pack.check_login();
  PERFORM pg_advisory_xact_lock(hashtextextended('pack.offer ' || p_owner, 0));
  IF EXISTS (SELECT FROM pack.offer AS o WHERE (o.owner, o.id, o.digest) = (p_owner, p_id, p_digest)) THEN
    RETURN 'same';
  END IF;
  IF p_owner <> '' AND EXISTS (SELECT FROM pack.offer AS o WHERE (o.owner, o.id) = ('', p_id)) THEN
    RETURN 'taken';
  END IF;
  IF p_owner <> '' AND p_most <= (SELECT count(*) FROM pack.offer AS o WHERE o.owner = p_owner AND o.id <> p_id) THEN
    RETURN 'full';
  END IF;
  INSERT INTO pack.offer AS o (owner, id, digest, about) VALUES (p_owner, p_id, p_digest, p_about)
  ON CONFLICT (owner, id) DO UPDATE SET digest = p_digest, about = p_about, at = clock_timestamp();
  RETURN 'new';
END $$;

-- What an owner may name, the oldest first: its own and the operator's; null: all that there are.
CREATE FUNCTION pack.offers(p_owner text) RETURNS SETOF pack.offer
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pack.check_login();
  RETURN QUERY
  SELECT * FROM pack.offer AS o WHERE p_owner IS NULL OR o.owner IN ('', p_owner) ORDER BY o.at, o.owner, o.id;
END $$;

-- Offers a case no more, and says whether it was: the owner's own; of null, which is the operator, its own, else everybody's.
CREATE FUNCTION pack.withdraw(p_owner text, p_id text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pack.check_login();
  DELETE FROM pack.offer AS o WHERE o.id = p_id AND o.owner = coalesce(p_owner, '');
  IF NOT FOUND AND p_owner IS NULL THEN
    DELETE FROM pack.offer AS o WHERE o.id = p_id;
  END IF;
  RETURN FOUND;
END $$;

-- Notes which pack a session plays, with its files where they are given; false where they do not lie here and are not.
CREATE FUNCTION pack.play(p_stream text, p_digest text, p_files bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pack.check_login();
  IF EXISTS (SELECT FROM pack.played AS p WHERE (p.stream, p.digest) = (p_stream, p_digest)) THEN
    RETURN true;
  END IF;
  IF p_files IS NOT NULL THEN
    PERFORM pack.bring(p_digest, p_files);
  END IF;
  PERFORM FROM pack.files AS f WHERE f.digest = p_digest FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO pack.played AS p (stream, digest) VALUES (p_stream, p_digest)
  ON CONFLICT (stream) DO UPDATE SET digest = p_digest, at = clock_timestamp();
  DELETE FROM pack.missing AS m WHERE m.digest = p_digest;
  RETURN true;
END $$;

CREATE FUNCTION pack.miss(p_digest text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pack.check_login();
  INSERT INTO pack.missing (digest) VALUES (p_digest) ON CONFLICT DO NOTHING;
END $$;

-- Takes away the packs that nobody offers and no session names: one that was just laid down is given an hour to be offered,
-- and one that is at fault (p_faulty) none. A session that came to nothing names none.
CREATE FUNCTION pack.sweep(p_faulty text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pack.check_login();
  DELETE FROM pack.played AS p WHERE p.at < clock_timestamp() - interval '1 hour'
    AND NOT EXISTS (SELECT FROM log.stream AS s WHERE s.stream = p.stream AND s.phase IS DISTINCT FROM 'erased');
  DELETE FROM pack.files AS f WHERE (f.at < clock_timestamp() - interval '1 hour' OR f.digest = p_faulty)
    AND NOT EXISTS (SELECT FROM pack.offer AS o WHERE o.digest = f.digest)
    AND NOT EXISTS (SELECT FROM pack.played AS p WHERE p.digest = f.digest);
END $$;

REVOKE ALL ON ALL TABLES IN SCHEMA pack FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pack FROM PUBLIC;
GRANT USAGE ON SCHEMA pack TO playmolt_engine, playmolt_gateway;
GRANT EXECUTE ON FUNCTION
  pack.read, pack.offer, pack.offers, pack.withdraw, pack.play, pack.miss, pack.sweep
TO playmolt_engine;
GRANT EXECUTE ON FUNCTION pack.bring TO playmolt_gateway;
GRANT SELECT ON pack.missing TO playmolt_gateway;
