-- name: create_owner
INSERT INTO account.owner (id, name, folded, contact) VALUES ($1, $2, $3, $4)

-- name: create_key
INSERT INTO account.owner_key (owner_id, hash) VALUES ($1, $2)

-- name: create_codes
INSERT INTO account.recovery_code (owner_id, hash) SELECT $1, h FROM unnest($2::bytea[]) AS h

-- name: lock
SELECT id FROM account.owner WHERE id = $1 FOR UPDATE

-- name: void_codes
DELETE FROM account.recovery_code WHERE owner_id = $1

-- name: lock_recovered
-- Concurrent recoveries of an owner take turns, even if the owner has no key. A wrong pair locks and writes nothing.
SELECT o.id FROM account.recovery_code AS c JOIN account.owner AS o ON o.id = c.owner_id
WHERE c.hash = $2 AND c.owner_id = $1 FOR UPDATE OF o

-- name: use_code
-- The code is looked up by its hash only, so that the call takes as long for an owner that does not exist.
DELETE FROM account.recovery_code WHERE hash = $2 AND owner_id = $1 RETURNING true

-- name: codes_left
SELECT count(*) FROM account.recovery_code WHERE owner_id = $1

-- name: key
SELECT hash FROM account.owner_key WHERE owner_id = $1 FOR UPDATE

-- name: set_key
INSERT INTO account.owner_key (owner_id, hash) VALUES ($1, $2)
ON CONFLICT (owner_id) DO UPDATE SET hash = excluded.hash, created_at = now()

-- name: end_browser_sessions
-- Also ends sign-ins in progress that would add an account, because the old key may have begun them.
WITH joining AS (DELETE FROM account.sign_in_attempt WHERE owner_id = $1)
DELETE FROM account.browser_session WHERE owner_id = $1

-- name: owner
SELECT id, name, contact FROM account.owner WHERE id = $1

-- name: names
SELECT id, name FROM account.owner WHERE id = ANY ($1::text[])

-- name: contacts
SELECT a.id, o.id, o.name, o.contact FROM account.agent AS a JOIN account.owner AS o ON o.id = a.owner_id
WHERE a.id = ANY ($1::text[])

-- name: agents
SELECT id, handle, name, version FROM account.agent WHERE owner_id = $1 ORDER BY created_at, id

-- name: replace_agent_key
WITH old AS (
  SELECT k.agent_id, k.hash FROM account.api_key AS k JOIN account.agent AS a ON a.id = k.agent_id
  WHERE a.id = $2 AND a.owner_id = $1 FOR UPDATE OF k
)
UPDATE account.api_key AS k SET hash = $3, created_at = now() FROM old WHERE k.agent_id = old.agent_id
RETURNING old.hash

-- name: has_agents
SELECT EXISTS (SELECT FROM account.agent WHERE owner_id = $1)

-- name: erase
-- Also deletes the operator's notes about the owner. The decisions stay in the log, under the owner's id.
WITH notes AS (DELETE FROM account.notice WHERE subject = $1)
DELETE FROM account.owner WHERE id = $1

-- name: one_address
SELECT account.one_address($1)
