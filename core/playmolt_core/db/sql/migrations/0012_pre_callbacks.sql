-- Agents' own servers, and the seats for which a gateway calls them.
SET LOCAL ROLE playmolt_owner;

-- Where an agent is called, and with what the calls are signed.
CREATE TABLE account.callback (
  agent_id   text COLLATE "C" PRIMARY KEY REFERENCES account.agent,
  url        text             NOT NULL,
  secret     text             NOT NULL,
  created_at timestamptz      NOT NULL DEFAULT now()
);

-- A seat that a gateway, `holder`, calls its agent for, until `until`. `refusals` of its answers to the question `turn_id`
-- were refused; `last_error` is what the last answer in this game came to; `calling_until` bounds the call under way.
CREATE TABLE account.called_seat (
  agent_id      text COLLATE "C" NOT NULL,
  game_id       text COLLATE "C" NOT NULL,
  holder        text             NOT NULL,
  until         timestamptz      NOT NULL,
  turn_id       text             NOT NULL DEFAULT '',
  refusals      integer          NOT NULL DEFAULT 0,
  last_error    text,
  calling_until timestamptz,
  PRIMARY KEY (agent_id, game_id),
  FOREIGN KEY (agent_id, game_id) REFERENCES account.seat ON DELETE CASCADE
);
CREATE INDEX called_seat_calling ON account.called_seat (calling_until) WHERE calling_until IS NOT NULL;

-- Takes the room of a call for `p_seconds`; false where there is none, of this agent or in all. The lock makes the counts
-- true: two callers would else see the same last room.
CREATE FUNCTION account.begin_call(
  p_agent text, p_game text, p_holder text, p_seconds double precision, p_each integer, p_most integer
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('account.called_seat', 0));
  IF (
    SELECT count(*) >= p_most OR count(*) FILTER (WHERE c.agent_id = p_agent) >= p_each
    FROM account.called_seat AS c
    WHERE c.calling_until > clock_timestamp() AND (c.agent_id, c.game_id) <> (p_agent, p_game)
  ) THEN
    RETURN false;
  END IF;
  UPDATE account.called_seat AS c SET calling_until = clock_timestamp() + make_interval(secs => p_seconds)
  WHERE c.agent_id = p_agent AND c.game_id = p_game AND c.holder = p_holder AND c.until > clock_timestamp();
  RETURN FOUND;
END $$;

REVOKE ALL ON account.callback, account.called_seat FROM PUBLIC;
REVOKE ALL ON FUNCTION account.begin_call FROM PUBLIC;
GRANT SELECT, INSERT, UPDATE, DELETE ON account.callback TO playmolt_gateway;
GRANT SELECT, INSERT, UPDATE, DELETE ON account.called_seat TO playmolt_gateway;
GRANT EXECUTE ON FUNCTION account.begin_call TO playmolt_gateway;
