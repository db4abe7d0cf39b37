-- From here on new sessions are sealed, and a release that reads no sealed record cannot come back. The `post` of a
-- release has a higher number than all its `pre`: see `migrate`.
SET LOCAL ROLE playmolt_owner;

CREATE OR REPLACE FUNCTION vault.seals() RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS 'SELECT true';
