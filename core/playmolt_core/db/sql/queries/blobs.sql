-- name: put
SELECT blob.put($1, $2)

-- name: put_of
INSERT INTO blob.text (hash, body, stream) SELECT hash, body, $3 FROM unnest($1::bytea[], $2::text[]) AS t (hash, body)
ON CONFLICT DO NOTHING

-- name: texts
SELECT hash, body FROM blob.text WHERE hash = ANY ($1)

-- name: reply
SELECT body FROM blob.reply WHERE key = $1
