-- name: put
INSERT INTO blob.text (hash, body) SELECT * FROM unnest($1::bytea[], $2::text[]) ON CONFLICT DO NOTHING

-- name: texts
SELECT hash, body FROM blob.text WHERE hash = ANY ($1)

-- name: keep
INSERT INTO blob.reply (key, body) VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: reply
SELECT body FROM blob.reply WHERE key = $1
