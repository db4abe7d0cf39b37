-- name: reserve
SELECT account, calls, tokens, money FROM limits.reserve($1, $2, $3, $4, $5, $6)

-- name: reserve_marked
WITH short AS MATERIALIZED (
  SELECT account, calls, tokens, money FROM limits.reserve($1, $2, $3, $4, $5, $6)
), marked AS (
  INSERT INTO lease.in_flight AS f (stream, turn, agent, ask, logged, requests, tokens, money)
  SELECT $7, $8, $9, $10, $11, 1, $12, $13 WHERE NOT EXISTS (SELECT FROM short)
  ON CONFLICT (stream) DO UPDATE SET
    requests = CASE WHEN (f.turn, f.agent, f.ask, f.logged) = ($8, $9, $10, $11) THEN f.requests ELSE 0 END + 1,
    tokens = CASE WHEN (f.turn, f.agent, f.ask, f.logged) = ($8, $9, $10, $11) THEN f.tokens ELSE 0 END + $12,
    money = CASE WHEN (f.turn, f.agent, f.ask, f.logged) = ($8, $9, $10, $11) THEN f.money ELSE 0 END + $13,
    turn = $8, agent = $9, ask = $10, logged = $11
)
SELECT account, calls, tokens, money FROM short

-- name: settle
SELECT limits.settle($1, $2, $3, $4)

-- name: settle_marked
WITH marked AS (
  UPDATE lease.in_flight SET requests = requests - $6, tokens = tokens - $7, money = money - $8 WHERE stream = $5
)
SELECT limits.settle($1, $2, $3, $4)

-- name: keep
WITH kept AS (
  INSERT INTO blob.reply (key, body) VALUES ($6, $7) ON CONFLICT DO NOTHING
), unmarked AS (
  DELETE FROM lease.in_flight WHERE stream = $5
), answered AS (
  DELETE FROM lease.batch_call WHERE key = $6
)
SELECT limits.settle($1, $2, $3, $4)

-- name: found
SELECT turn, agent, ask, logged, requests, tokens, money FROM lease.in_flight WHERE stream = $1 AND requests > 0
