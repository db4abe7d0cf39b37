-- What owners show of their sessions and experiments: the address of each, and the calls that asked for one.
SET LOCAL ROLE playmolt_owner;

-- A stream has one address at a time. `sections` names what is shown of it; null: all.
CREATE TABLE account.share (
  stream    text COLLATE "C" PRIMARY KEY,
  token     text COLLATE "C" NOT NULL UNIQUE CHECK (length(token) >= 22),
  owner     text COLLATE "C" NOT NULL,
  sections  text[],
  shared_at timestamptz      NOT NULL DEFAULT now()
);

-- Which body an Idempotency-Key of a share belongs to: its repeat opens no other sections.
CREATE TABLE account.share_key (
  stream      text COLLATE "C" NOT NULL,
  command_id  text COLLATE "C" NOT NULL,
  fingerprint text             NOT NULL,
  PRIMARY KEY (stream, command_id)
);

REVOKE ALL ON account.share, account.share_key FROM PUBLIC;
GRANT SELECT, INSERT, UPDATE, DELETE ON account.share TO playmolt_gateway;
GRANT SELECT, INSERT ON account.share_key TO playmolt_gateway;
