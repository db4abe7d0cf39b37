-- name: phases
SELECT game, phase, count(*) FROM log.stream WHERE NOT over AND phase IS NOT NULL AND invite IS NULL GROUP BY game, phase

-- name: pending
SELECT game, count(*) FROM log.stream WHERE due <= now() GROUP BY game
