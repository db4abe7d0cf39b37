-- From here on rows of streams stand behind their records, and a release that reads a stream's end from its row cannot
-- come back.
SET LOCAL ROLE playmolt_owner;

DROP FUNCTION log.append(
  text, text, text, text, text, text, text, text, text, text, text, text, text, text, json, json, text,
  text, text, json, json, text, text, text, text, json
);
CREATE OR REPLACE FUNCTION log.rows_lag() RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS 'SELECT true';
