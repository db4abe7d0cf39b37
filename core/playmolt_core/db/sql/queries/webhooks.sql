-- name: put
SELECT account.put_webhook($1, $2, $3, $4, $5, $6)

-- name: webhook
SELECT url, events, created_at, off, off_at FROM account.webhook WHERE owner_id = $1

-- name: end
DELETE FROM account.webhook WHERE owner_id = $1

-- name: deliveries
SELECT id, type, changed_at, status, tries FROM account.delivery WHERE owner_id = $1
ORDER BY changed_at DESC, number DESC LIMIT $2

-- name: any_on
SELECT EXISTS (SELECT FROM account.webhook WHERE off IS NULL)

-- name: claim
SELECT id, tries, type, at, data, webhook, url, origin FROM account.claim_notices($1, $2, $3, $4, $5, $6, $7)

-- name: record
SELECT account.record_call($1, $2, $3, $4, $5, $6)

-- name: figures
SELECT count(*),
  coalesce(extract(epoch FROM clock_timestamp() - min(n.next_at) FILTER (WHERE w.works IS TRUE)), 0)::double precision
FROM account.delivery AS n JOIN account.webhook AS w USING (owner_id) WHERE n.status = 'waiting'

-- name: noted
SELECT shard, position FROM account.noted()

-- name: records
-- Records of these types after one position, up to and including another.
SELECT e.position, e.stream, e.version, e.type, e.data, e.at
FROM log.event AS e
WHERE e.shard = $1 AND e.position > $2 AND e.position <= $3 AND e.type_code IN (
  SELECT t.code FROM log.event_type AS t WHERE t.name = ANY ($4::text[])
) ORDER BY e.position

-- name: seats
-- The records of these types (agents who took, left or resigned a seat) in these streams.
SELECT s.stream, r.version, t.name, r.data
FROM log.stream AS s JOIN log.record AS r ON r.number = s.number AND r.shard = s.shard
JOIN log.event_type AS t ON t.code = r.type
WHERE s.stream = ANY ($1::text[]) AND s.shard = $2 AND t.name = ANY ($3::text[]) ORDER BY s.stream, r.version

-- name: note
SELECT account.note_events($1, $2, $3, $4, $5)
