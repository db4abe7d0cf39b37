-- Who opened a stream: the list of a person's sessions.
SET LOCAL ROLE playmolt_owner;
CREATE INDEX event_opened_by ON log.event ((metadata ->> 'actor'), stream) WHERE version = 1;
