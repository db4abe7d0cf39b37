-- A column that the code of 0.1.0 does not know, as the first step of a rollout adds it.
SET LOCAL ROLE playmolt_owner;

ALTER TABLE log.stream ADD COLUMN note text;
