-- name: entrants
SELECT id, name, handle, kind, version, model, owner_id FROM account.entrants($1)

-- name: house_bots
SELECT id, name, handle, kind, version, model, owner_id FROM account.house_bots($1, $2) ORDER BY number

-- name: note_table
SELECT account.note_table($1, $2)

-- name: create_house_bot
INSERT INTO account.agent (id, name, folded, kind) VALUES ($1, $2, $2, 'house') ON CONFLICT (id) DO NOTHING

-- name: note_house_bot
INSERT INTO account.house_bot (agent_id) VALUES ($1) ON CONFLICT DO NOTHING

-- name: handle
SELECT handle FROM account.agent WHERE id = $1

-- name: house_tables
SELECT s.game_id, array_agg(s.agent_id ORDER BY s.agent_id)
FROM account.house_bot AS b JOIN account.seat AS s USING (agent_id)
GROUP BY s.game_id ORDER BY min(s.taken_at), s.game_id LIMIT $1

-- name: house_seats
SELECT a.id, a.name FROM account.house_bot AS b
JOIN account.seat AS s USING (agent_id) JOIN account.agent AS a ON a.id = b.agent_id
WHERE s.game_id = $1 ORDER BY a.id

-- name: give_key
INSERT INTO account.api_key AS k (agent_id, hash) VALUES ($1, $2)
ON CONFLICT (agent_id) DO UPDATE SET hash = excluded.hash, created_at = now()

-- name: includes
SELECT projection.includes($1)

-- name: season
SELECT id, name, handle, kind, version, model, owner_id, points, wins, games FROM projection.season($1, $2, $3, $4)
