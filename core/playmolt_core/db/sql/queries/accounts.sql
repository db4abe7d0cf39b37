-- name: create_agent
WITH agent AS (INSERT INTO account.agent (id, name) VALUES ($1, $2))
INSERT INTO account.api_key (agent_id, hash) VALUES ($1, $3)

-- name: replace_key
-- Of two at once the second waits for the row and then finds that its old hash is no longer there.
UPDATE account.api_key SET hash = $3, created_at = now() WHERE agent_id = $1 AND hash = $2 RETURNING true

-- name: claim_join
INSERT INTO account.join_key (agent_id, command_id, fingerprint) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING

-- name: claimed_join
SELECT fingerprint FROM account.join_key WHERE agent_id = $1 AND command_id = $2

-- name: owners
-- The inner SELECT hides the array from the planner, which would plan each call anew for its length: three times what
-- finding one key costs. The limits cut nothing; they keep the look-ups while statistics call the tables small.
SELECT k.hash, a.id, a.name
FROM unnest((SELECT $1::bytea[])) AS wanted (hash)
CROSS JOIN LATERAL (SELECT hash, agent_id FROM account.api_key WHERE hash = wanted.hash LIMIT 1) AS k
CROSS JOIN LATERAL (SELECT id, name FROM account.agent WHERE id = k.agent_id LIMIT 1) AS a

-- name: agent
SELECT id, name FROM account.agent WHERE id = $1

-- name: newest_agents
SELECT id, name, created_at FROM account.agent ORDER BY created_at DESC, id DESC LIMIT $1

-- name: older_agents
SELECT id, name, created_at FROM account.agent WHERE (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT $1
