-- name: finished
SELECT s.stream, s.version, s.hash, s.created_at
FROM log.stream AS s JOIN log.event AS e ON e.stream = s.stream AND e.version = s.version AND e.shard = s.shard
WHERE s.game = $1 AND s.phase IS NOT NULL AND (s.created_at, s.stream) > ($2, $3)
  AND s.erased_at IS NULL AND s.over AND s.due IS NULL AND s.updated_at < $4 AND e.closes AND e.position <= ($5::bigint[])[e.shard + 1]
ORDER BY s.created_at, s.stream LIMIT $6

-- name: permitted
SELECT has_function_privilege('log.prune(json, text, bytea)', 'EXECUTE')

-- name: prune
SELECT log.prune($1, $2, $3)

-- name: drop_parts
SELECT log.drop_parts()
