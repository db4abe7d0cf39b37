SET LOCAL ROLE playmolt_owner;

-- What an account has spent, calls under way counted at their worst case: a call that is lost stays counted so.
CREATE TABLE limits.budget (
  account text COLLATE "C" PRIMARY KEY,
  calls   bigint  NOT NULL DEFAULT 0,
  tokens  bigint  NOT NULL DEFAULT 0,
  money   numeric NOT NULL DEFAULT 0
);

-- Counts a call on every account, or on none: gives the first account that does not hold it, as it stands, and no row
-- when all do. A null limit is none.
CREATE FUNCTION limits.reserve(
  p_accounts text[], p_calls bigint[], p_tokens bigint[], p_money numeric[], p_take_tokens bigint, p_take_money numeric
) RETURNS SETOF limits.budget
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  short limits.budget;
BEGIN
  INSERT INTO limits.budget (account) SELECT unnest(p_accounts) ON CONFLICT DO NOTHING;
  PERFORM FROM limits.budget AS b WHERE b.account = ANY (p_accounts) ORDER BY b.account FOR NO KEY UPDATE;
  SELECT b.* INTO short
  FROM unnest(p_accounts, p_calls, p_tokens, p_money) WITH ORDINALITY AS a (account, calls, tokens, money, nth)
  JOIN limits.budget AS b USING (account)
  WHERE b.calls + 1 > a.calls OR b.tokens + p_take_tokens > a.tokens OR b.money + p_take_money > a.money
  ORDER BY a.nth LIMIT 1;
  IF short.account IS NOT NULL THEN
    RETURN NEXT short;
  ELSE
    UPDATE limits.budget AS b
    SET calls = b.calls + 1, tokens = b.tokens + p_take_tokens, money = b.money + p_take_money
    WHERE b.account = ANY (p_accounts);
  END IF;
END $$;

-- Corrects what `reserve` counted to what the call took; a call that was never made counts none.
CREATE FUNCTION limits.settle(p_accounts text[], p_calls bigint, p_tokens bigint, p_money numeric) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  UPDATE limits.budget AS b SET calls = b.calls + p_calls, tokens = b.tokens + p_tokens, money = b.money + p_money
  WHERE b.account = ANY (p_accounts)
$$;

REVOKE ALL ON limits.budget FROM PUBLIC;
REVOKE ALL ON FUNCTION limits.reserve, limits.settle FROM PUBLIC;
GRANT EXECUTE ON FUNCTION limits.reserve, limits.settle TO playmolt_engine;
