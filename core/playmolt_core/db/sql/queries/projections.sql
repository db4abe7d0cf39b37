-- name: leaders
-- $2: bot, person, house or all.
SELECT rank() OVER (ORDER BY l.points DESC), l.agent_id, coalesce(l.name, l.agent_id),
  coalesce(l.handle, l.agent_id), coalesce(l.kind, 'bot'), l.model, l.version, l.points, l.games
FROM (
  SELECT s.agent_id, s.points, s.games, a.name, a.handle, a.kind, a.model, a.version
  FROM projection.score AS s LEFT JOIN account.agent AS a ON a.id = s.agent_id
  WHERE s.game_type = $1 AND CASE $2 WHEN 'all' THEN true WHEN 'bot' THEN a.kind IS DISTINCT FROM 'house' ELSE a.kind = $2 END
  ORDER BY s.points DESC, s.agent_id LIMIT $3
) AS l
ORDER BY l.points DESC, l.agent_id

-- name: followers
WITH line AS NOT MATERIALIZED (
  SELECT s.agent_id, s.points, s.games, a.name, a.handle, a.kind, a.model, a.version
  FROM projection.score AS s LEFT JOIN account.agent AS a ON a.id = s.agent_id
  WHERE s.game_type = $1 AND CASE $2 WHEN 'all' THEN true WHEN 'bot' THEN a.kind IS DISTINCT FROM 'house' ELSE a.kind = $2 END
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

-- name: rated_board
-- $3: best, latest or all versions of an agent. $4: the midnight up to which uncertainty grows. $5: ratings without a
-- game since this time are left out. $6 to $8: the last row of the previous page. Equal rows share a rank.
WITH line AS (
  SELECT r.agent_id, r.version, r.points, r.games, r.ended_at, r.mu,
    projection.rested_sigma(r.sigma, r.ended_at, $4) AS sigma, a.name, a.handle, a.kind, a.model
  FROM projection.rating AS r LEFT JOIN account.agent AS a ON a.id = r.agent_id
  WHERE r.ladder = $1 AND r.ended_at >= $5
    AND CASE $2 WHEN 'all' THEN true WHEN 'bot' THEN a.kind IS DISTINCT FROM 'house' ELSE a.kind = $2 END
    AND ($3 <> 'latest' OR a.id IS NULL OR r.version = coalesce(a.version, ''))
), sorted AS (
  -- The rating minus three times its uncertainty, both as shown, in tenths; equal to `RatingRow.merit`.
  SELECT *, (round(10 * (1500 + 60 * (mu - 25))) - 3 * round(10 * (60 * sigma)))::integer AS merit FROM line
), chosen AS (
  SELECT *, row_number() OVER (
    PARTITION BY agent_id
    ORDER BY games >= $10 DESC, CASE WHEN games >= $10 THEN merit ELSE games END DESC, merit DESC, ended_at DESC, version
  ) AS preference FROM sorted
), ranked AS (
  SELECT *, rank() OVER (ORDER BY merit DESC) AS place FROM chosen WHERE $3 <> 'best' OR preference = 1
)
SELECT place, agent_id, coalesce(name, agent_id), coalesce(handle, agent_id), coalesce(kind, 'bot'), model, version,
  points, games, mu, sigma
FROM ranked
WHERE $6::bigint IS NULL OR merit < $6 OR (merit = $6 AND (agent_id, version) > ($7, $8))
ORDER BY merit DESC, agent_id, version LIMIT $9

-- name: games_of
SELECT agent_id, game_type, games FROM projection.score WHERE agent_id = ANY ($1::text[]) AND game_type <> ''

-- name: lines_of
SELECT agent_id, ladder, version, mu, projection.rested_sigma(sigma, ended_at, $2), games, points FROM projection.rating
WHERE agent_id = ANY ($1::text[]) ORDER BY agent_id, ladder, ended_at DESC, game_id DESC

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
-- Locks all shards, because a game of one shard may precede games of another.
SELECT position, rules FROM projection.progress ORDER BY shard FOR UPDATE

-- name: move
UPDATE projection.progress SET position = $1, rules = $2 WHERE shard = $3

-- name: allow_long
-- Clearing may delete the results of years.
SET LOCAL statement_timeout = '10min'

-- name: clear_score
DELETE FROM projection.score

-- name: clear_result
DELETE FROM projection.result

-- name: clear_rating
DELETE FROM projection.rating

-- name: clear_role_game
DELETE FROM projection.role_game

-- name: clear_role_rate
DELETE FROM projection.role_rate

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

-- name: finished
SELECT game_id, ended_at FROM projection.finished($1)
