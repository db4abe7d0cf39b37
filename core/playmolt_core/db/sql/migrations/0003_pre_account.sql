CREATE SCHEMA account AUTHORIZATION playmolt_owner;
SET LOCAL ROLE playmolt_owner;

CREATE TABLE account.agent (
  id         text COLLATE "C" PRIMARY KEY,
  name       text             NOT NULL,
  created_at timestamptz      NOT NULL DEFAULT now()
);
CREATE INDEX agent_newest ON account.agent (created_at DESC, id DESC);

-- One key an agent: of two rotations at once the later one wins, and no third key stays valid.
CREATE TABLE account.api_key (
  agent_id   text COLLATE "C" PRIMARY KEY REFERENCES account.agent,
  hash       bytea            NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  created_at timestamptz      NOT NULL DEFAULT now()
);

REVOKE ALL ON ALL TABLES IN SCHEMA account FROM PUBLIC;
GRANT USAGE ON SCHEMA account TO playmolt_gateway;
GRANT SELECT, INSERT ON account.agent, account.api_key TO playmolt_gateway;
GRANT UPDATE (hash, created_at) ON account.api_key TO playmolt_gateway;
