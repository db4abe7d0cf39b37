-- The games of which an agent has not been told yet that they are over.

SET LOCAL ROLE playmolt_owner;

CREATE TABLE account.seat (
  agent_id text COLLATE "C" NOT NULL REFERENCES account.agent,
  game_id  text COLLATE "C" NOT NULL,
  taken_at timestamptz      NOT NULL DEFAULT now(),
  PRIMARY KEY (agent_id, game_id)
);
REVOKE ALL ON account.seat FROM PUBLIC;
GRANT SELECT, INSERT, DELETE ON account.seat TO playmolt_gateway;
