-- name: rated_seats
-- The next $3 competing seats of rated games after a game ($1) and seat ($2), in this order.
SELECT game_id, seat, agent_id, rank FROM projection.result
WHERE rated AND competes AND (game_id, seat) > ($1, $2)
ORDER BY game_id, seat LIMIT $3

-- name: models
SELECT agent, model FROM account.models()

-- name: note_fit
-- The row lock makes another job wait until the commit.
INSERT INTO projection.score_fit (board, as_of, input, unconnected) VALUES ($1, clock_timestamp(), $2, $3)
ON CONFLICT (board) DO UPDATE SET as_of = excluded.as_of, input = excluded.input, unconnected = excluded.unconnected

-- name: confirm_fit
UPDATE projection.score_fit SET as_of = clock_timestamp() WHERE board = $1 AND input = $2

-- name: clear_scores
DELETE FROM projection.fitted_score WHERE board = $1

-- name: store_scores
INSERT INTO projection.fitted_score (board, id, model, score, low, high, games, types)
SELECT $1, u.id, u.model, u.score, u.low, u.high, u.games, string_to_array(u.types, ',')
FROM unnest($2::text[], $3::text[], $4::float8[], $5::float8[], $6::float8[], $7::integer[], $8::text[])
  AS u (id, model, score, low, high, games, types)

-- name: fit
SELECT as_of, unconnected, input FROM projection.score_fit WHERE board = $1

-- name: stored
SELECT id, model, score, low, high, games, types FROM projection.fitted_score
WHERE board = $1 ORDER BY score DESC, id, model

-- name: page
-- $2: bot, person, house or all. $4 to $6: the last row of the previous page, or null.
SELECT p.* FROM (
  SELECT rank() OVER (ORDER BY l.score DESC) AS rank, l.*
  FROM (
    SELECT s.id, coalesce(a.name, s.id) AS name, coalesce(a.handle, s.id) AS handle,
      CASE WHEN s.model <> '' THEN 'house' ELSE coalesce(a.kind, 'bot') END AS kind,
      coalesce(nullif(s.model, ''), a.model) AS model, s.score, s.low, s.high, s.games, s.types, s.model AS player
    FROM projection.fitted_score AS s LEFT JOIN account.agent AS a ON a.id = s.id AND s.model = ''
    WHERE s.board = $1
  ) AS l
  WHERE CASE $2 WHEN 'all' THEN true WHEN 'bot' THEN l.kind <> 'house' ELSE l.kind = $2 END
) AS p
WHERE $4::float8 IS NULL OR p.score < $4 OR (p.score = $4 AND (p.id, p.player) > ($5, $6))
ORDER BY p.score DESC, p.id, p.player LIMIT $3
