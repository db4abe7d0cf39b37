-- name: bind
INSERT INTO account.report_key (command_id, fingerprint) VALUES ($1::text::uuid, decode($2, 'hex'))
ON CONFLICT DO NOTHING

-- name: bound
SELECT encode(fingerprint, 'hex'), report_id FROM account.report_key WHERE command_id = $1::text::uuid

-- name: answered
SELECT encode(fingerprint, 'hex'), answer FROM account.report_key WHERE command_id = $1::text::uuid

-- name: keep
UPDATE account.report_key SET answer = $2 WHERE command_id = $1::text::uuid

-- name: note
UPDATE account.report_key SET report_id = $2 WHERE command_id = $1::text::uuid

-- name: add
INSERT INTO account.report AS r (id, digest, kind, game_id, version, agent_id, owner_id, reason)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (digest) WHERE decided_at IS NULL DO UPDATE SET count = r.count + 1
RETURNING id

-- name: report
SELECT id, kind, game_id, version, agent_id, owner_id, reason, count, at, decision, note, until, decided_at
FROM account.report WHERE id = $1

-- name: locked_report
SELECT id, kind, game_id, version, agent_id, owner_id, reason, count, at, decision, note, until, decided_at
FROM account.report WHERE id = $1 FOR UPDATE

-- name: reports
-- Newest first, after ($2, $3); $4: decided ones, open ones, or (null) all.
SELECT id, kind, game_id, version, agent_id, owner_id, reason, count, at, decision, note, until, decided_at
FROM account.report
WHERE (at, id) < ($2, $3) AND ($4::boolean IS NULL OR $4 = (decided_at IS NOT NULL))
ORDER BY at DESC, id DESC LIMIT $1

-- name: decide
UPDATE account.report SET decision = $2, note = $3, until = $4, decided_at = clock_timestamp() WHERE id = $1
RETURNING id, kind, game_id, version, agent_id, owner_id, reason, count, at, decision, note, until, decided_at

-- name: sweep
SELECT account.sweep_reports($1)
