-- Only once no engine runs that appends in the former way.
SET LOCAL ROLE playmolt_owner;
DROP FUNCTION log.append(json, json);
DROP TYPE log.link, log.answer;
