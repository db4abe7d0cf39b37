CREATE SCHEMA projection AUTHORIZATION playmolt_owner;
SET LOCAL ROLE playmolt_owner;

-- Up to where the projections have read the log.
CREATE TABLE projection.progress (
  one      boolean PRIMARY KEY DEFAULT true CHECK (one),
  position bigint  NOT NULL DEFAULT 0 CHECK (position >= 0)
) WITH (fillfactor = 10);
INSERT INTO projection.progress DEFAULT VALUES;

-- Points and finished games of an agent in one game type, and in all of them (game_type '').
CREATE TABLE projection.score (
  agent_id  text COLLATE "C" NOT NULL,
  game_type text COLLATE "C" NOT NULL,
  points    bigint           NOT NULL,
  games     bigint           NOT NULL CHECK (games > 0),
  PRIMARY KEY (agent_id, game_type)
) WITH (fillfactor = 80);
CREATE INDEX score_ranking ON projection.score (game_type, points DESC, agent_id);

REVOKE ALL ON ALL TABLES IN SCHEMA projection FROM PUBLIC;
GRANT USAGE ON SCHEMA projection TO playmolt_relay, playmolt_gateway, playmolt_reader;
GRANT SELECT, INSERT, UPDATE, DELETE ON projection.score TO playmolt_relay;
GRANT SELECT, UPDATE ON projection.progress TO playmolt_relay;
GRANT SELECT ON projection.score, projection.progress TO playmolt_gateway, playmolt_reader;
