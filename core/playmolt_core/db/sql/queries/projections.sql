-- name: leaders
SELECT rank() OVER (ORDER BY s.points DESC), s.agent_id, coalesce(a.name, s.agent_id), s.points, s.games,
  coalesce(a.handle, s.agent_id), coalesce(a.kind, 'bot'), a.model, a.version
FROM (
  SELECT agent_id, points, games FROM projection.score WHERE game_type = $1 ORDER BY points DESC, agent_id LIMIT $2
) AS s LEFT JOIN account.agent AS a ON a.id = s.agent_id
ORDER BY s.points DESC, s.agent_id

-- name: followers
WITH before AS (
  SELECT count(*) FILTER (WHERE points > $3) AS better, count(*) AS counted FROM projection.score
  WHERE game_type = $1 AND points >= $3 AND (points > $3 OR agent_id <= $4)
), page AS (
  SELECT agent_id, points, games FROM projection.score
  WHERE game_type = $1 AND points <= $3 AND (points < $3 OR agent_id > $4) ORDER BY points DESC, agent_id LIMIT $2
)
SELECT
  CASE WHEN p.points = $3 THEN b.better + 1 ELSE b.counted + rank() OVER (ORDER BY p.points DESC) END,
  p.agent_id, coalesce(a.name, p.agent_id), p.points, p.games,
  coalesce(a.handle, p.agent_id), coalesce(a.kind, 'bot'), a.model, a.version
FROM page AS p CROSS JOIN before AS b LEFT JOIN account.agent AS a ON a.id = p.agent_id
ORDER BY p.points DESC, p.agent_id

-- name: points_of
SELECT game_type, points, games FROM projection.score WHERE agent_id = $1 ORDER BY game_type

-- name: position
SELECT position FROM projection.progress

-- name: lock_position
SELECT position FROM projection.progress FOR UPDATE

-- name: move
UPDATE projection.progress SET position = $1

-- name: clear
DELETE FROM projection.score

-- name: add
INSERT INTO projection.score AS s (agent_id, game_type, points, games)
SELECT u.agent_id, t.game_type, sum(u.points), sum(u.games)
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS u (agent_id, game_type, points, games)
CROSS JOIN LATERAL (VALUES (u.game_type), ('')) AS t (game_type)
GROUP BY u.agent_id, t.game_type ORDER BY u.agent_id, t.game_type
ON CONFLICT (agent_id, game_type) DO UPDATE SET points = s.points + excluded.points, games = s.games + excluded.games
