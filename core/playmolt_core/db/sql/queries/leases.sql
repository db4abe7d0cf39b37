-- name: take
SELECT lease.take($1, $2, $3)

-- name: extend
SELECT lease.extend($1, $2, $3, $4)

-- name: release
SELECT lease.release($1, $2, $3, $4)
