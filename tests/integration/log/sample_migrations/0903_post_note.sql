-- Safe once no process of 0.1.0 is left.
SET LOCAL ROLE playmolt_owner;

ALTER TABLE log.stream ALTER COLUMN note SET DEFAULT '';
UPDATE log.stream SET note = '' WHERE note IS NULL;
ALTER TABLE log.stream ALTER COLUMN note SET NOT NULL;
