-- name: reserve
SELECT account, calls, tokens, money FROM limits.reserve($1, $2, $3, $4, $5, $6)

-- name: settle
SELECT limits.settle($1, $2, $3, $4)
