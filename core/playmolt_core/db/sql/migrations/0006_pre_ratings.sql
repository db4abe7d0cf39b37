-- Results of finished games and the ratings that follow from them.
SET LOCAL ROLE playmolt_owner;

-- A relay of this release reads the log anew where `rules` are not its own, or where one of the release before has moved
-- `position` alone.
ALTER TABLE projection.progress
  ADD COLUMN rules integer NOT NULL DEFAULT 0,
  ADD COLUMN ruled bigint  NOT NULL DEFAULT 0;

-- A seat of a finished game. `rated`: the game is; `competes`: this seat is rated by it. `mu` to `line_points`: what its
-- agent's line came to with this game.
CREATE TABLE projection.result (
  game_id     text COLLATE "C" NOT NULL,
  agent_id    text COLLATE "C" NOT NULL,
  game_type   text COLLATE "C" NOT NULL,
  ended_at    timestamptz      NOT NULL,
  seat        smallint         NOT NULL,
  rank        integer,
  points      bigint           NOT NULL,
  rated       boolean          NOT NULL,
  competes    boolean          NOT NULL,
  version     text COLLATE "C" NOT NULL,
  mu          double precision,
  sigma       double precision,
  line_games  integer,
  line_points bigint,
  PRIMARY KEY (game_id, agent_id)
) WITH (fillfactor = 80);
CREATE INDEX result_of_agent ON projection.result (agent_id, ended_at DESC, game_id DESC);
CREATE INDEX result_order ON projection.result (game_type, ended_at, game_id) WHERE rated AND competes;
CREATE INDEX result_of_line ON projection.result (agent_id, game_type, version, ended_at DESC, game_id DESC)
  WHERE rated AND competes;

-- What each line has come to: an agent in one version ("" for none) in one game type. `merit` is what lines are ordered
-- by; the last two columns are the place of its newest game.
CREATE TABLE projection.rating (
  game_type text COLLATE "C"  NOT NULL,
  agent_id  text COLLATE "C"  NOT NULL,
  version   text COLLATE "C"  NOT NULL,
  mu        double precision  NOT NULL,
  sigma     double precision  NOT NULL,
  games     integer           NOT NULL CHECK (games > 0),
  points    bigint            NOT NULL,
  merit     integer           NOT NULL,
  ended_at  timestamptz       NOT NULL,
  game_id   text COLLATE "C"  NOT NULL,
  PRIMARY KEY (agent_id, game_type, version)
) WITH (fillfactor = 80);
CREATE INDEX rating_ranking ON projection.rating (game_type, merit DESC, agent_id, version);

REVOKE ALL ON projection.result, projection.rating FROM PUBLIC;
GRANT SELECT, INSERT, UPDATE, DELETE ON projection.result, projection.rating TO playmolt_relay;
GRANT SELECT ON projection.result, projection.rating TO playmolt_gateway, playmolt_reader;
