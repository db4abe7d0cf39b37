-- name: agent_of_key
SELECT a.id, a.handle, a.name, a.kind, a.owner_id
FROM account.api_key AS k JOIN account.agent AS a ON a.id = k.agent_id WHERE k.hash = $1 FOR UPDATE OF a

-- name: agent
SELECT id, handle, name FROM account.agent WHERE id = $1

-- name: owned_key
SELECT k.hash FROM account.agent AS a JOIN account.api_key AS k ON k.agent_id = a.id
WHERE a.id = $2 AND a.owner_id = $1 FOR UPDATE OF a

-- name: agents
SELECT id FROM account.agent WHERE owner_id = $1 ORDER BY id

-- name: lock_owner
SELECT id FROM account.owner WHERE id = $1 FOR UPDATE

-- name: count
SELECT count(*) FROM account.agent WHERE owner_id = $1

-- name: bind
INSERT INTO account.claim_key (owner_id, command_id, fingerprint) VALUES ($1, $2::text::uuid, decode($3, 'hex'))
ON CONFLICT DO NOTHING

-- name: bound
SELECT encode(fingerprint, 'hex'), agent_id FROM account.claim_key WHERE owner_id = $1 AND command_id = $2::text::uuid

-- name: end
UPDATE account.claim_key SET agent_id = $3 WHERE owner_id = $1 AND command_id = $2::text::uuid

-- name: last
SELECT version, hash FROM log.last_owner($1)

-- name: different
SELECT agent_id, stored, logged, coalesce(stream, ''), coalesce(version, 0) FROM log.owners()
WHERE stored IS DISTINCT FROM logged ORDER BY agent_id

-- name: rebuild
SELECT log.rebuild_owners()

-- name: append
SELECT log.change_owner($1, $2, $3, $4)
