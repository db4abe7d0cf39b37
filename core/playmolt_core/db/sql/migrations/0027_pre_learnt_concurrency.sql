-- How many calls at once a provider of models takes, learnt from its refusals. The functions keep their old signatures
-- by defaults: an engine of the release before calls them without a provider.
SET LOCAL ROLE playmolt_owner;

ALTER TABLE limits.model_call ADD COLUMN provider text COLLATE "C";
CREATE INDEX model_call_provider ON limits.model_call (provider, until);

-- What a provider that refused calls (429) takes at once. `answered` counts those of a full house since the last change,
-- `refused` its refusals in a row; before `until` nobody asks it.
CREATE UNLOGGED TABLE limits.provider (
  provider text COLLATE "C" PRIMARY KEY,
  allowed  integer          NOT NULL CHECK (allowed >= 1),
  answered integer          NOT NULL,
  refused  integer          NOT NULL,
  halved   timestamptz      NOT NULL,
  until    timestamptz      NOT NULL
);
DROP FUNCTION limits.admit;
-- Admits a call that is expected to take `cost` tokens and gives 0, or gives the seconds after which to ask again. A null
-- limit is none. The locks make the counts of an alias and its provider true: two callers would else see the same last room.
CREATE FUNCTION limits.admit(
  p_id uuid, p_alias text, p_window double precision, p_lease double precision,
  p_concurrent integer, p_requests integer, p_tokens bigint, p_cost bigint,
  p_provider text DEFAULT NULL
) RETURNS double precision
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
  span    CONSTANT interval := make_interval(secs => p_window);
  cost    CONSTANT bigint   := least(p_cost, coalesce(p_tokens, p_cost));
  present timestamptz;
  free_at timestamptz;
  used    bigint;
  room_at timestamptz;
  learnt  limits.provider;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('limits.model_call ' || p_alias, 0));
  PERFORM pg_advisory_xact_lock(hashtextextended('limits.provider ' || p_provider, 0));
  present := clock_timestamp();
  DELETE FROM limits.model_call AS c WHERE c.alias = p_alias AND c.at <= present - span AND c.until <= present;

  SELECT count(*), min(c.until) INTO used, room_at
  FROM limits.model_call AS c WHERE c.alias = p_alias AND c.until > present;
  IF used >= p_concurrent THEN
    free_at := room_at;
  END IF;

  IF p_requests IS NOT NULL THEN
    SELECT c.at + span INTO room_at FROM limits.model_call AS c
    WHERE c.alias = p_alias AND c.at > present - span
    ORDER BY c.at DESC OFFSET p_requests - 1 LIMIT 1;
    free_at := greatest(free_at, room_at);
  END IF;

  IF p_tokens IS NOT NULL THEN
    SELECT c.at + span INTO room_at FROM (
      SELECT k.at, sum(k.tokens) OVER (ORDER BY k.at DESC, k.id) AS spent FROM limits.model_call AS k
      WHERE k.alias = p_alias AND k.at > present - span
    ) AS c
    WHERE c.spent + cost > p_tokens ORDER BY c.at DESC LIMIT 1;
    free_at := greatest(free_at, room_at);
  END IF;

  SELECT p.* INTO learnt FROM limits.provider AS p WHERE p.provider = p_provider;
  IF learnt.provider IS NOT NULL THEN
    SELECT count(*), min(c.until) INTO used, room_at
    FROM limits.model_call AS c WHERE c.provider = p_provider AND c.until > present;
    free_at := greatest(
      free_at, CASE WHEN used >= learnt.allowed THEN room_at END, CASE WHEN learnt.until > present THEN learnt.until END
    );
  END IF;

  IF free_at IS NOT NULL THEN
    RETURN greatest(0.001, extract(epoch FROM free_at - present));
  END IF;
  INSERT INTO limits.model_call (id, alias, at, until, tokens, provider)
  VALUES (p_id, p_alias, present, present + make_interval(secs => p_lease), cost, p_provider);
  RETURN 0;
END $$;
DROP FUNCTION limits.give_back;
-- Gives a slot back; `tokens` is what the call took, null when nobody knows. `refused` says what its provider is learnt
-- from: a refusal (429) halves what is allowed and holds all its calls for `wait` seconds, or longer where it refuses again
-- and again; ⌈stretch / allowed⌉ answers of a full house add one. Calls that were under way at a refusal count for neither.
-- Under the lock, and with the slot: nobody else takes the refused call's room before it is gone.
CREATE FUNCTION limits.give_back(
  p_id uuid, p_tokens bigint, p_refused boolean DEFAULT NULL, p_wait double precision DEFAULT NULL,
  p_stretch integer DEFAULT NULL, p_first double precision DEFAULT NULL, p_most double precision DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  given   limits.model_call;
  learnt  limits.provider;
  present timestamptz;
  used    integer;
BEGIN
  SELECT c.* INTO given FROM limits.model_call AS c WHERE c.id = p_id;
  IF p_refused IS NOT NULL AND given.provider IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('limits.provider ' || given.provider, 0));
    present := clock_timestamp();
    SELECT count(*) INTO used
    FROM limits.model_call AS c WHERE c.provider = given.provider AND (c.until > present OR c.id = p_id);
    SELECT p.* INTO learnt FROM limits.provider AS p WHERE p.provider = given.provider;
    IF learnt.provider IS NULL AND p_refused THEN
      learnt := (given.provider, used, 0, 0, '-infinity', '-infinity');
      INSERT INTO limits.provider SELECT learnt.*;
    END IF;
    IF p_refused THEN
      learnt.until := greatest(learnt.until, present + make_interval(secs => coalesce(p_wait, 0)));
      IF given.at > learnt.halved THEN
        learnt.until := greatest(
          learnt.until, present + make_interval(secs => least(p_most, p_first * 2 ^ least(learnt.refused, 30)))
        );
        learnt.allowed := greatest(1, least(learnt.allowed, used) / 2);
        learnt.refused := learnt.refused + 1;
        learnt.halved := present;
      END IF;
      learnt.answered := 0;
    ELSE
      learnt.refused := 0;
      IF used >= learnt.allowed AND given.at > learnt.halved THEN
        learnt.answered := learnt.answered + 1;
      END IF;
      IF learnt.answered >= ceil(p_stretch::numeric / learnt.allowed) THEN
        learnt.allowed := learnt.allowed + 1;
        learnt.answered := 0;
      END IF;
    END IF;
    UPDATE limits.provider AS p
    SET allowed = learnt.allowed, answered = learnt.answered, refused = learnt.refused, halved = learnt.halved,
      until = learnt.until
    WHERE p.provider = learnt.provider;
  END IF;
  UPDATE limits.model_call AS c SET until = least(c.until, clock_timestamp()), tokens = coalesce(p_tokens, c.tokens)
  WHERE c.id = p_id;
END $$;
REVOKE ALL ON limits.provider FROM PUBLIC;
REVOKE ALL ON FUNCTION limits.admit, limits.give_back FROM PUBLIC;
GRANT EXECUTE ON FUNCTION limits.admit, limits.give_back TO playmolt_engine;
