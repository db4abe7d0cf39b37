-- Who took a seat in a stream: the list of an agent's games.
SET LOCAL ROLE playmolt_owner;
CREATE INDEX event_joined ON log.event ((data ->> 'agent_id'), stream) WHERE type = 'agent_joined';
