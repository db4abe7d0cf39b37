-- No engine of the release before is left.
SET LOCAL ROLE playmolt_owner;

DROP FUNCTION log.append(
  text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, json, json, text,
  text, text, json, json, text, text, text, text, text, json
);
DROP FUNCTION log.rows_lag;
