-- name: put
SELECT blob.put($1, $2)

-- name: texts
SELECT hash, body FROM blob.text WHERE hash = ANY ($1)

-- name: reply
SELECT body FROM blob.reply WHERE key = $1
