-- name: bring
SELECT pack.bring($1, $2)

-- name: missing
SELECT digest FROM pack.missing ORDER BY digest

-- name: played
SELECT DISTINCT digest FROM pack.played ORDER BY digest

-- name: read
SELECT pack.read($1)

-- name: offer
SELECT pack.offer($1, $2, $3, $4, $5)

-- name: offers
SELECT owner, id, digest, about, at FROM pack.offers($1)

-- name: withdraw
SELECT pack.withdraw($1, $2)

-- name: play
SELECT pack.play($1, $2, $3)

-- name: miss
SELECT pack.miss($1)

-- name: sweep
SELECT pack.sweep($1)
