-- name: put
INSERT INTO blob.text (hash, body) SELECT * FROM unnest($1::bytea[], $2::text[]) ON CONFLICT DO NOTHING

-- name: texts
SELECT hash, body FROM blob.text WHERE hash = ANY ($1)

-- name: reply
SELECT body FROM blob.reply WHERE key = $1
