-- name: claim_key
-- Returns a row if this key of this stream is new.
INSERT INTO account.share_key (stream, command_id, fingerprint) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
RETURNING true

-- name: claimed_key
SELECT fingerprint FROM account.share_key WHERE stream = $1 AND command_id = $2

-- name: open
-- An existing share keeps its token. This call sets its sections, unless it repeats an earlier call ($5).
INSERT INTO account.share AS s (stream, token, owner, sections) VALUES ($1, $2, $3, $4)
ON CONFLICT (stream) DO UPDATE SET sections = CASE WHEN $5 THEN s.sections ELSE excluded.sections END
RETURNING token

-- name: close
DELETE FROM account.share WHERE stream = $1

-- name: link_file
WITH over AS (DELETE FROM account.file_link WHERE until <= clock_timestamp())
INSERT INTO account.file_link (token_hash, caller, path, until)
VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))

-- name: linked_file
SELECT caller, path FROM account.file_link WHERE token_hash = $1 AND until > clock_timestamp()

-- name: find
SELECT stream, owner, sections FROM account.share WHERE token = $1

-- name: is_shared
SELECT EXISTS (SELECT FROM account.share WHERE stream = $1)
