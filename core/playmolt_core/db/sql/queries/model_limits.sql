-- name: admit
SELECT limits.admit($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- name: hold
SELECT limits.hold($1, $2)

-- name: give_back
SELECT limits.give_back($1, $2, $3, $4, $5, $6, $7)
