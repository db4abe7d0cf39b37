-- name: heads
SELECT DISTINCT ON (stream) stream, version, hash FROM log.event WHERE shard = $3 AND position > $1 AND position <= $2
ORDER BY stream, version DESC

-- name: hashes
-- For archived streams, the hash is known only at the end; it is null for earlier versions.
SELECT h.stream, h.version, coalesce(e.hash, CASE a.version WHEN h.version THEN a.hash END)
FROM unnest($1::text[], $2::integer[]) AS h (stream, version)
LEFT JOIN log.event AS e ON e.stream = h.stream AND e.version = h.version
LEFT JOIN log.archived AS a ON a.stream = h.stream
WHERE e.hash IS NOT NULL OR a.stream IS NOT NULL
