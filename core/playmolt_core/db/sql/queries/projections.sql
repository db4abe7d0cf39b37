-- name: leaders
-- $2: bot, house or all.
SELECT rank() OVER (ORDER BY l.points DESC), l.agent_id, coalesce(l.name, l.agent_id),
  coalesce(l.handle, l.agent_id), coalesce(l.kind, 'bot'), l.model, l.version, l.points, l.games
FROM (
  SELECT s.agent_id, s.points, s.games, a.name, a.handle, a.kind, a.model, a.version
  FROM projection.score AS s LEFT JOIN account.agent AS a ON a.id = s.agent_id
  WHERE s.game_type = $1 AND CASE $2 WHEN 'all' THEN true WHEN 'house' THEN a.kind = 'house' ELSE a.kind IS DISTINCT FROM 'house' END
  ORDER BY s.points DESC, s.agent_id LIMIT $3
) AS l
ORDER BY l.points DESC, l.agent_id

-- name: followers
WITH line AS NOT MATERIALIZED (
  SELECT s.agent_id, s.points, s.games, a.name, a.handle, a.kind, a.model, a.version
  FROM projection.score AS s LEFT JOIN account.agent AS a ON a.id = s.agent_id
  WHERE s.game_type = $1 AND CASE $2 WHEN 'all' THEN true WHEN 'house' THEN a.kind = 'house' ELSE a.kind IS DISTINCT FROM 'house' END
), before AS (
  SELECT count(*) FILTER (WHERE points > $4) AS better, count(*) AS counted FROM line
  WHERE points >= $4 AND (points > $4 OR agent_id <= $5)
), page AS (
  SELECT * FROM line WHERE points <= $4 AND (points < $4 OR agent_id > $5) ORDER BY points DESC, agent_id LIMIT $3
)
SELECT
  CASE WHEN p.points = $4 THEN b.better + 1 ELSE b.counted + rank() OVER (ORDER BY p.points DESC) END,
  p.agent_id, coalesce(p.name, p.agent_id),
  coalesce(p.handle, p.agent_id), coalesce(p.kind, 'bot'), p.model, p.version, p.points, p.games
FROM page AS p CROSS JOIN before AS b
ORDER BY p.points DESC, p.agent_id

-- name: rated_leaders
-- $3: latest, the present version of each agent, or all.
SELECT rank() OVER (ORDER BY l.merit DESC), l.agent_id, coalesce(l.name, l.agent_id),
  coalesce(l.handle, l.agent_id), coalesce(l.kind, 'bot'), l.model, l.version, l.points, l.games, l.mu, l.sigma
FROM (
  SELECT r.*, a.name, a.handle, a.kind, a.model
  FROM projection.rating AS r LEFT JOIN account.agent AS a ON a.id = r.agent_id
  WHERE r.ladder = $1 AND CASE $2 WHEN 'all' THEN true WHEN 'house' THEN a.kind = 'house' ELSE a.kind IS DISTINCT FROM 'house' END
    AND ($3 = 'all' OR a.id IS NULL OR r.version = coalesce(a.version, ''))
  ORDER BY r.merit DESC, r.agent_id, r.version LIMIT $4
) AS l
ORDER BY l.merit DESC, l.agent_id, l.version

-- name: rated_followers
WITH line AS NOT MATERIALIZED (
  SELECT r.*, a.name, a.handle, a.kind, a.model
  FROM projection.rating AS r LEFT JOIN account.agent AS a ON a.id = r.agent_id
  WHERE r.ladder = $1 AND CASE $2 WHEN 'all' THEN true WHEN 'house' THEN a.kind = 'house' ELSE a.kind IS DISTINCT FROM 'house' END
    AND ($3 = 'all' OR a.id IS NULL OR r.version = coalesce(a.version, ''))
), before AS (
  SELECT count(*) FILTER (WHERE merit > $5) AS better, count(*) AS counted FROM line
  WHERE merit >= $5 AND (merit > $5 OR (agent_id, version) <= ($6, $7))
), page AS (
  SELECT * FROM line WHERE merit <= $5 AND (merit < $5 OR (agent_id, version) > ($6, $7))
  ORDER BY merit DESC, agent_id, version LIMIT $4
)
SELECT
  CASE WHEN p.merit = $5 THEN b.better + 1 ELSE b.counted + rank() OVER (ORDER BY p.merit DESC) END,
  p.agent_id, coalesce(p.name, p.agent_id),
  coalesce(p.handle, p.agent_id), coalesce(p.kind, 'bot'), p.model, p.version, p.points, p.games, p.mu, p.sigma
FROM page AS p CROSS JOIN before AS b
ORDER BY p.merit DESC, p.agent_id, p.version

-- name: lines_of
SELECT ladder, version, mu, sigma, games, points FROM projection.rating
WHERE agent_id = $1 ORDER BY ladder, ended_at DESC, game_id DESC

-- name: recent
SELECT game_id, ended_at, rank, points, rated FROM projection.result
WHERE agent_id = $1 ORDER BY ended_at DESC, game_id DESC LIMIT $2

-- name: points_of
SELECT game_type, points, games FROM projection.score WHERE agent_id = $1 ORDER BY game_type

-- name: scores
SELECT agent_id, game_type, points, games FROM projection.score

-- name: progress
SELECT position, rules FROM projection.progress ORDER BY shard

-- name: lock_progress
-- All shards: a game of one may have a place before games of another.
SELECT position, rules FROM projection.progress ORDER BY shard FOR UPDATE

-- name: move
UPDATE projection.progress SET position = $1, rules = $2 WHERE shard = $3

-- name: allow_long
-- What is cleared may be the results of years.
SET LOCAL statement_timeout = '10min'

-- name: clear_score
DELETE FROM projection.score

-- name: clear_result
DELETE FROM projection.result

-- name: clear_rating
DELETE FROM projection.rating

-- name: add
INSERT INTO projection.score AS s (agent_id, game_type, points, games)
SELECT u.agent_id, t.game_type, sum(u.points), sum(u.games)
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS u (agent_id, game_type, points, games)
CROSS JOIN LATERAL (VALUES (u.game_type), ('')) AS t (game_type)
GROUP BY u.agent_id, t.game_type ORDER BY u.agent_id, t.game_type
ON CONFLICT (agent_id, game_type) DO UPDATE SET points = s.points + excluded.points, games = s.games + excluded.games

-- name: phases
SELECT game, phase, count(*) FROM log.stream WHERE NOT over AND phase IS NOT NULL AND invite IS NULL GROUP BY game, phase

-- name: pending
SELECT game, count(*) FROM log.stream WHERE due <= now() GROUP BY game
