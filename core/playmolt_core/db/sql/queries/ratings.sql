-- name: store_results
INSERT INTO projection.result
  (game_id, agent_id, ladder, ended_at, seat, rank, points, rated, competes, version, mu, sigma, line_games, line_points)
SELECT * FROM unnest(
  $1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::smallint[], $6::integer[], $7::bigint[], $8::boolean[],
  $9::boolean[], $10::text[], $11::float8[], $12::float8[], $13::integer[], $14::bigint[]
)

-- name: rated_ladders
SELECT DISTINCT ladder FROM projection.result WHERE rated ORDER BY ladder

-- name: rated_seats
SELECT r.ended_at, r.game_id, r.ladder, o.content, o.won, r.agent_id, r.version, r.rank, r.points
FROM (
  SELECT g.ended_at, g.game_id
  FROM unnest($1::text[]) AS l (ladder)
  CROSS JOIN LATERAL (
    SELECT DISTINCT ended_at, game_id FROM projection.result
    WHERE ladder = l.ladder AND rated AND competes AND (ended_at, game_id) > ($2, $3)
    ORDER BY ended_at, game_id LIMIT $4
  ) AS g
  ORDER BY g.ended_at, g.game_id LIMIT $4
) AS g
CROSS JOIN LATERAL (SELECT * FROM projection.result AS s WHERE s.game_id = g.game_id AND s.competes OFFSET 0) AS r
LEFT JOIN projection.role_game AS o ON o.game_id = r.game_id
ORDER BY r.ended_at, r.game_id, r.seat

-- name: steps_before
SELECT s.ended_at, s.game_id, l.ladder, l.agent_id, l.version, s.mu, s.sigma, s.line_games, s.line_points
FROM projection.rating AS l
CROSS JOIN LATERAL (
  SELECT * FROM projection.result AS r
  WHERE r.agent_id = l.agent_id AND r.ladder = l.ladder AND r.version = l.version AND r.rated AND r.competes
    AND (r.ended_at, r.game_id) < ($3, $4)
  ORDER BY r.ended_at DESC, r.game_id DESC LIMIT 1
) AS s
WHERE l.ladder = ANY ($1) AND l.agent_id = ANY ($2)

-- name: role_counts_before
SELECT r.content, s.games, s.wins
FROM projection.role_rate AS r
CROSS JOIN LATERAL (
  SELECT games, wins FROM projection.role_game AS g
  WHERE g.content = r.content AND split_part(g.game_id, '-', 1) = r.game_type AND (g.ended_at, g.game_id) < ($3, $4)
  ORDER BY g.ended_at DESC, g.game_id DESC LIMIT 1
) AS s
WHERE r.game_type = $1 AND r.content = ANY ($2)

-- name: store_steps
UPDATE projection.result AS r SET mu = u.mu, sigma = u.sigma, line_games = u.games, line_points = u.points
FROM unnest($1::text[], $2::text[], $3::float8[], $4::float8[], $5::integer[], $6::bigint[])
  AS u (game_id, agent_id, mu, sigma, games, points)
WHERE r.game_id = u.game_id AND r.agent_id = u.agent_id

-- name: store_lines
INSERT INTO projection.rating
  (ladder, agent_id, version, mu, sigma, games, points, ended_at, game_id)
SELECT * FROM unnest(
  $1::text[], $2::text[], $3::text[], $4::float8[], $5::float8[], $6::integer[], $7::bigint[], $8::timestamptz[],
  $9::text[]
)
ON CONFLICT (agent_id, ladder, version) DO UPDATE SET
  mu = excluded.mu, sigma = excluded.sigma, games = excluded.games, points = excluded.points,
  ended_at = excluded.ended_at, game_id = excluded.game_id

-- name: store_role_games
INSERT INTO projection.role_game (game_id, content, ended_at, won, games, wins)
SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::boolean[], $5::integer[], $6::integer[])
ON CONFLICT (game_id) DO UPDATE SET games = excluded.games, wins = excluded.wins

-- name: store_role_rates
INSERT INTO projection.role_rate (game_type, content, games, wins, ended_at, game_id)
SELECT * FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[], $5::timestamptz[], $6::text[])
ON CONFLICT (game_type, content) DO UPDATE SET
  games = excluded.games, wins = excluded.wins, ended_at = excluded.ended_at, game_id = excluded.game_id

-- name: stored_results
SELECT game_id, agent_id, ladder, ended_at, seat, rank, points, rated, competes, version
FROM projection.result WHERE $1::text[] IS NULL OR game_id = ANY ($1)

-- name: total_results
SELECT count(*) FROM projection.result

-- name: stored_steps
SELECT ended_at, game_id, ladder, agent_id, version, mu, sigma, line_games, line_points
FROM projection.result WHERE game_id = ANY ($1) AND mu IS NOT NULL

-- name: stored_lines
SELECT ended_at, game_id, ladder, agent_id, version, mu, sigma, games, points FROM projection.rating

-- name: stored_role_games
SELECT ended_at, game_id, content, won, games, wins
FROM projection.role_game WHERE $1::text[] IS NULL OR game_id = ANY ($1)

-- name: stored_role_rates
SELECT ended_at, game_id, game_type, content, games, wins FROM projection.role_rate

-- name: role_rates
-- The content version that was played last comes first.
SELECT content, games, wins FROM projection.role_rate WHERE game_type = $1 ORDER BY ended_at DESC, game_id DESC LIMIT $2
