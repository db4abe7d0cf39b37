-- name: create_agent
INSERT INTO account.agent (id, name, folded, kind, version, about, model, invite, address_group)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING handle

-- name: create_visitor
INSERT INTO account.visitor (id, hash, invite) VALUES ($1, $2, $3)

-- name: delete_visitor
WITH links AS (DELETE FROM account.file_link WHERE caller = $1)
DELETE FROM account.visitor WHERE id = $1

-- name: create_invite
INSERT INTO account.invite (id, hash, people, until) VALUES ($1, $2, $3, $4)

-- name: delete_invite
DELETE FROM account.invite WHERE id = $1 RETURNING true

-- name: use_invite
UPDATE account.invite SET used = used + 1 WHERE hash = $1 AND used < people AND until > clock_timestamp() RETURNING id

-- name: create_key
INSERT INTO account.api_key (agent_id, hash) VALUES ($1, $2)

-- name: update_agent
-- $2 and $4 say whether to change version and about; $6 is the maximum number of version changes in a UTC day. Returns no
-- row if the agent does not exist or the maximum is exceeded.
UPDATE account.agent AS a SET
  version = CASE WHEN $2 THEN $3 ELSE a.version END,
  version_day = CASE WHEN $2 AND a.version IS DISTINCT FROM $3 THEN (now() AT TIME ZONE 'UTC')::date ELSE a.version_day END,
  version_changes = CASE
    WHEN NOT $2 OR a.version IS NOT DISTINCT FROM $3 THEN a.version_changes
    WHEN a.version_day = (now() AT TIME ZONE 'UTC')::date THEN a.version_changes + 1
    ELSE 1
  END,
  about = CASE WHEN $4 THEN $5 ELSE a.about END
WHERE id = $1 AND (
  NOT $2 OR a.version IS NOT DISTINCT FROM $3
  OR a.version_day IS DISTINCT FROM (now() AT TIME ZONE 'UTC')::date OR a.version_changes < $6
)
RETURNING id, name, handle, kind, version, model, owner_id, about, created_at

-- name: next_day
-- The seconds until the next UTC day; no row for an agent that does not exist.
SELECT extract(epoch FROM date_trunc('day', now(), 'UTC') + interval '1 day' - now())::float8 FROM account.agent WHERE id = $1

-- name: replace_key
-- If two callers replace a key, the second waits for the row and then does not find the old hash.
UPDATE account.api_key SET hash = $3, created_at = now() WHERE agent_id = $1 AND hash = $2 RETURNING true

-- name: claim_join
INSERT INTO account.join_key (agent_id, command_id, fingerprint) VALUES ($1, $2::text::uuid, decode($3, 'hex')) ON CONFLICT DO NOTHING

-- name: claimed_join
SELECT encode(fingerprint, 'hex') FROM account.join_key WHERE agent_id = $1 AND command_id = $2::text::uuid

-- name: keep_seat
-- The DELETE does not see the new row, so it leaves 99 other rows.
WITH kept AS (INSERT INTO account.seat (agent_id, game_id) VALUES ($1, $2) ON CONFLICT DO NOTHING)
DELETE FROM account.seat WHERE agent_id = $1 AND game_id IN (
  SELECT game_id FROM account.seat WHERE agent_id = $1 AND game_id <> $2 ORDER BY taken_at DESC OFFSET 99
)

-- name: seats
SELECT game_id FROM account.seat WHERE agent_id = $1 ORDER BY taken_at, game_id LIMIT 100

-- name: forget_seat
DELETE FROM account.seat WHERE agent_id = $1 AND game_id = $2

-- name: make_secret
INSERT INTO account.secret (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: secret
SELECT value FROM account.secret WHERE name = $1

-- name: callers
-- The inner SELECT hides the array from the planner, which would plan each call again for its length. That takes three
-- times as long as finding one key. The LIMITs remove no rows; they make Postgres use the indexes even if statistics say
-- that the tables are small.
SELECT k.hash, a.id, a.name, a.handle, a.kind, a.version, a.model, a.owner_id
FROM unnest((SELECT $1::bytea[])) AS wanted (hash)
CROSS JOIN LATERAL (SELECT hash, agent_id FROM account.api_key WHERE hash = wanted.hash LIMIT 1) AS k
CROSS JOIN LATERAL (
  SELECT id, name, handle, kind, version, model, owner_id FROM account.agent WHERE id = k.agent_id LIMIT 1
) AS a
UNION ALL
SELECT v.hash, v.id, 'Visitor', '', 'person', NULL, NULL, NULL
FROM unnest((SELECT $1::bytea[])) AS wanted (hash)
CROSS JOIN LATERAL (SELECT hash, id FROM account.visitor WHERE hash = wanted.hash AND void_at IS NULL LIMIT 1) AS v
UNION ALL
SELECT k.hash, o.id, o.name, '', 'owner', NULL, NULL, NULL
FROM unnest((SELECT $1::bytea[])) AS wanted (hash)
CROSS JOIN LATERAL (SELECT hash, owner_id FROM account.owner_key WHERE hash = wanted.hash LIMIT 1) AS k
CROSS JOIN LATERAL (SELECT id, name FROM account.owner WHERE id = k.owner_id LIMIT 1) AS o

-- name: sweep_visitors
SELECT account.sweep_visitors($1)

-- name: void_keys
SELECT hash FROM account.void_key WHERE at > clock_timestamp() - make_interval(secs => $1)

-- name: profile
SELECT id, name, handle, kind, version, model, owner_id, about, created_at FROM account.agent WHERE id = $1

-- name: agents
-- Newest first, after ($2, $3). $4 is the beginning of a folded name or of a handle; "" for all agents.
SELECT a.id, name, handle, kind, version, model, owner_id, about, created_at, coalesce(s.points, 0), coalesce(s.games, 0)
FROM account.agent AS a LEFT JOIN projection.score AS s ON s.agent_id = a.id AND s.game_type = ''
WHERE (created_at, a.id) < ($2, $3) AND ($4 = '' OR starts_with(folded, $4) OR starts_with(handle, $4))
ORDER BY created_at DESC, a.id DESC LIMIT $1
