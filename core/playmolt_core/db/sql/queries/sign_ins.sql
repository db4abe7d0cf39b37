-- name: begin
-- Also deletes attempts that were never finished.
WITH old AS (
  DELETE FROM account.sign_in_attempt WHERE hash IN (
    SELECT hash FROM account.sign_in_attempt
    WHERE at < clock_timestamp() - make_interval(secs => $5) LIMIT 100 FOR UPDATE SKIP LOCKED
  )
)
INSERT INTO account.sign_in_attempt (hash, browser, next, owner_id) SELECT $1, $2, $3, $4
WHERE $4::text IS NULL OR EXISTS (SELECT FROM account.owner WHERE id = $4)

-- name: use_attempt
DELETE FROM account.sign_in_attempt WHERE hash = $1 AND browser = $2
RETURNING next, owner_id, at > clock_timestamp() - make_interval(secs => $3) AS young

-- name: owner_of
SELECT owner_id FROM account.sign_in WHERE issuer = $1 AND subject = $2

-- name: lock_owner
SELECT id FROM account.owner WHERE id = $1 FOR UPDATE

-- name: count_accounts
SELECT count(*) FROM account.sign_in WHERE owner_id = $1

-- name: create_owner
INSERT INTO account.owner (id, name, folded) VALUES ($1, $2, $3)

-- name: delete_owner
DELETE FROM account.owner WHERE id = $1

-- name: join_account
-- Waits for another sign-in of the same account that is being stored.
INSERT INTO account.sign_in (issuer, subject, owner_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING true

-- name: open_session
-- Also deletes the browser's previous session, expired sessions, and the oldest sessions of an owner with too many.
WITH old AS (
  DELETE FROM account.browser_session WHERE hash = $4 OR hash IN (
    SELECT hash FROM account.browser_session
    WHERE created_at < clock_timestamp() - make_interval(secs => $5)
      OR used_at < clock_timestamp() - make_interval(secs => $6)
    LIMIT 100 FOR UPDATE SKIP LOCKED
  ) OR hash IN (
    SELECT hash FROM account.browser_session WHERE owner_id = $2 ORDER BY used_at DESC OFFSET $7
  )
)
INSERT INTO account.browser_session (hash, owner_id, csrf, sign_in)
SELECT $1, $2, $3, id FROM account.sign_in WHERE issuer = $8 AND subject = $9

-- name: session
SELECT o.id, o.name, s.csrf, s.used_at < clock_timestamp() - make_interval(secs => $4) AS stale
FROM account.browser_session AS s JOIN account.owner AS o ON o.id = s.owner_id
WHERE s.hash = $1 AND s.created_at > clock_timestamp() - make_interval(secs => $2)
  AND s.used_at > clock_timestamp() - make_interval(secs => $3)

-- name: use_session
UPDATE account.browser_session SET used_at = clock_timestamp() WHERE hash = $1

-- name: of_owner
SELECT id::text, issuer, at FROM account.sign_in WHERE owner_id = $1 ORDER BY at, id

-- name: has_other_way
-- Whether an owner can open its account without this sign-in: with another sign-in, its key or a recovery code.
SELECT EXISTS (SELECT FROM account.sign_in WHERE owner_id = $1 AND id <> $2::text::uuid)
  OR EXISTS (SELECT FROM account.owner_key WHERE owner_id = $1)
  OR EXISTS (SELECT FROM account.recovery_code WHERE owner_id = $1)

-- name: is_of_owner
SELECT EXISTS (SELECT FROM account.sign_in WHERE owner_id = $1 AND id = $2::text::uuid)

-- name: remove
-- Also ends sign-ins in progress that would add an account, because a session of this sign-in may have begun them.
WITH joining AS (DELETE FROM account.sign_in_attempt WHERE owner_id = $1)
DELETE FROM account.sign_in WHERE owner_id = $1 AND id = $2::text::uuid

-- name: end_session
DELETE FROM account.browser_session WHERE hash = $1
