-- name: make
SELECT * FROM vault.make($1, $2, $3, $4)

-- name: read
SELECT stream, owner, kek, wrapped, created_at, erased_at FROM vault.read($1)

-- name: erase
SELECT vault.erase($1)

-- name: outdated
SELECT stream, owner, kek, wrapped, created_at, erased_at FROM vault.outdated($1, $2)

-- name: rewrap
SELECT vault.rewrap($1, $2, $3, $4)

-- name: needed
SELECT kek, sessions FROM vault.needed()
