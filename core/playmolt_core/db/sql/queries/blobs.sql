-- name: put
SELECT blob.put($1, $2)

-- name: put_of
INSERT INTO blob.text (hash, body, stream) SELECT hash, body, $3 FROM unnest($1::bytea[], $2::text[]) AS t (hash, body)
ON CONFLICT DO NOTHING

-- name: texts
SELECT hash, body FROM blob.text WHERE hash = ANY ($1)

-- name: reply
SELECT body FROM blob.reply WHERE key = $1

-- name: mark
INSERT INTO lease.in_flight AS f (stream, turn, agent, ask, logged, requests, tokens, money)
VALUES ($1, $2, $3, $4, $5, 1, $6, $7)
ON CONFLICT (stream) DO UPDATE SET
  requests = CASE WHEN (f.turn, f.agent, f.ask, f.logged) = ($2, $3, $4, $5) THEN f.requests ELSE 0 END + 1,
  tokens = CASE WHEN (f.turn, f.agent, f.ask, f.logged) = ($2, $3, $4, $5) THEN f.tokens ELSE 0 END + $6,
  money = CASE WHEN (f.turn, f.agent, f.ask, f.logged) = ($2, $3, $4, $5) THEN f.money ELSE 0 END + $7,
  turn = $2, agent = $3, ask = $4, logged = $5

-- name: refused
UPDATE lease.in_flight SET requests = requests - 1, tokens = tokens - $2, money = money - $3 WHERE stream = $1

-- name: settled
UPDATE lease.in_flight SET tokens = 0, money = 0 WHERE stream = $1

-- name: found
SELECT turn, agent, ask, logged, requests, tokens, money FROM lease.in_flight WHERE stream = $1 AND requests > 0

-- name: keep
WITH kept AS (INSERT INTO blob.reply (key, body) VALUES ($2, $3) ON CONFLICT DO NOTHING)
DELETE FROM lease.in_flight WHERE stream = $1
