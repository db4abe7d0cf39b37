-- name: beat
SELECT lease.beat($1, $2)

-- name: lost
SELECT lease.lost($1, $2, $3)
