SET LOCAL ROLE playmolt_owner;

-- Which body an Idempotency-Key of a join belongs to. A key with another body is refused, whatever game type that names;
-- every type has a lobby of its own, and no lobby knows of another's joins.
CREATE TABLE account.join_key (
  agent_id    text COLLATE "C" NOT NULL REFERENCES account.agent,
  command_id  text COLLATE "C" NOT NULL,
  fingerprint text             NOT NULL,
  PRIMARY KEY (agent_id, command_id)
);

REVOKE ALL ON account.join_key FROM PUBLIC;
GRANT SELECT, INSERT ON account.join_key TO playmolt_gateway;
