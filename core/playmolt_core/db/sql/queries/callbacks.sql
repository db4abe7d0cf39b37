-- name: put
INSERT INTO account.callback (agent_id, url, secret) VALUES ($1, $2, $3)
ON CONFLICT (agent_id) DO UPDATE SET url = excluded.url, secret = excluded.secret, created_at = excluded.created_at

-- name: callback
SELECT url, created_at FROM account.callback WHERE agent_id = $1

-- name: end
WITH held AS (DELETE FROM account.called_seat WHERE agent_id = $1)
DELETE FROM account.callback WHERE agent_id = $1

-- name: claim
INSERT INTO account.called_seat AS c (agent_id, game_id, holder, until)
SELECT s.agent_id, s.game_id, $1, clock_timestamp() + make_interval(secs => $2)
FROM account.callback AS b JOIN account.seat AS s USING (agent_id)
LEFT JOIN account.called_seat AS h USING (agent_id, game_id)
WHERE (h.until IS NULL OR h.until <= clock_timestamp()) AND NOT EXISTS (
  SELECT FROM account.agent AS a JOIN account.ban AS n ON n.subject IN (a.id, a.owner_id)
  WHERE a.id = b.agent_id AND n.banned AND (n.until IS NULL OR n.until > clock_timestamp())
)
ORDER BY s.taken_at LIMIT $3
ON CONFLICT (agent_id, game_id) DO UPDATE SET holder = excluded.holder, until = excluded.until
  WHERE c.until <= clock_timestamp()
RETURNING c.agent_id, c.game_id

-- name: hold
UPDATE account.called_seat AS c SET until = clock_timestamp() + make_interval(secs => $2)
FROM account.callback AS b
WHERE b.agent_id = c.agent_id AND c.holder = $1 AND c.until > clock_timestamp()
RETURNING c.agent_id, c.game_id

-- name: give_back
UPDATE account.called_seat SET until = clock_timestamp(), calling_until = NULL
WHERE agent_id = $1 AND game_id = $2 AND holder = $3

-- name: called
SELECT b.url, b.secret, c.turn_id, c.refusals, c.last_error
FROM account.callback AS b JOIN account.called_seat AS c USING (agent_id)
WHERE c.agent_id = $1 AND c.game_id = $2 AND c.holder = $3 AND c.until > clock_timestamp() AND NOT EXISTS (
  SELECT FROM account.agent AS a JOIN account.ban AS n ON n.subject IN (a.id, a.owner_id)
  WHERE a.id = $1 AND n.banned AND (n.until IS NULL OR n.until > clock_timestamp())
)

-- name: begin
SELECT account.begin_call($1, $2, $3, $4, $5, $6)

-- name: answered
UPDATE account.called_seat SET calling_until = NULL, turn_id = $4, refusals = $5, last_error = $6
WHERE agent_id = $1 AND game_id = $2 AND holder = $3
