-- name: put
INSERT INTO lease.job AS j (stream, digest, request)
SELECT $1, $2, $3
WHERE (SELECT count(*) FROM lease.job WHERE status IS NULL) < $4 OR EXISTS (SELECT FROM lease.job WHERE stream = $1)
ON CONFLICT (stream) DO UPDATE
SET digest = excluded.digest, request = excluded.request, at = clock_timestamp(), holder = NULL, until = NULL,
    status = NULL, answer = NULL
WHERE j.status <> 201 AND (j.status >= 400 OR j.digest = excluded.digest)
  AND j.until < clock_timestamp() - make_interval(secs => $5)

-- name: found
SELECT digest, status, answer FROM lease.job WHERE stream = $1

-- name: take
UPDATE lease.job SET holder = $1, until = clock_timestamp() + make_interval(secs => $2)
WHERE stream = (
  SELECT stream FROM lease.job WHERE status IS NULL AND (until IS NULL OR until < clock_timestamp())
  ORDER BY at, stream LIMIT 1 FOR UPDATE SKIP LOCKED
)
RETURNING stream, request

-- name: hold
UPDATE lease.job SET until = clock_timestamp() + make_interval(secs => $3)
WHERE stream = $1 AND holder = $2 AND status IS NULL
RETURNING true

-- name: give_back
UPDATE lease.job SET holder = NULL, until = NULL WHERE stream = $1 AND holder = $2 AND status IS NULL

-- name: finish
UPDATE lease.job SET status = $3, answer = $4, request = '', until = clock_timestamp()
WHERE stream = $1 AND holder = $2 AND status IS NULL

-- name: sweep
DELETE FROM lease.job WHERE status IS NOT NULL AND status <> 201 AND until < clock_timestamp() - make_interval(days => 1)
