-- name: take
SELECT limits.take($1, $2, $3, $4)

-- name: sweep
SELECT limits.sweep()
