-- name: session
SELECT owner, version, hash, created_at, updated_at, erased_at, erased_by, erased_linked FROM log.session($1)

-- name: last
SELECT version, hash FROM log.last_erasure()

-- name: erase
SELECT log.erase($1, $2, $3, $4, $5, $6, $7)

-- name: idle
SELECT * FROM log.idle_sessions($1, $2, $3)

-- name: forget_texts
SELECT blob.forget($1, $2)

-- name: emptied
SELECT stream, emptied FROM vault.emptied()

-- name: records
SELECT data, at FROM log.event WHERE stream = 'erasure-sessions' AND position > $1 AND position <= $2 ORDER BY version

-- name: old_archives
SELECT * FROM log.old_archives($1)
