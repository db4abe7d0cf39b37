-- name: begin
SELECT version, hash, newest FROM log.begin_moderation($1)

-- name: said
SELECT version, agent_id FROM log.said($1, $2, $3, $4, $5, $6, $7, $8) ORDER BY version, agent_id

-- name: hidden
SELECT version, agent_id FROM log.hidden WHERE stream = $1 AND hidden

-- name: renamed
SELECT n.handle, n.withheld FROM account.renamed AS n WHERE n.subject = $1 AND n.handle IS NOT NULL

-- name: ban
SELECT b.until FROM account.ban AS b WHERE b.subject = $1 AND b.banned AND (b.until IS NULL OR b.until > $2)

-- name: exists
SELECT EXISTS (SELECT FROM account.agent WHERE id = $1) OR EXISTS (SELECT FROM account.owner WHERE id = $1)
  OR EXISTS (SELECT FROM log.announcing($1))

-- name: neutral_handle
SELECT account.neutral_handle($1)

-- name: moderate
SELECT log.moderate($1, $2, $3, $4, $5)

-- name: bans
SELECT b.subject, b.until FROM account.ban AS b
WHERE b.subject = ANY ($1) AND b.banned AND (b.until IS NULL OR b.until > clock_timestamp())

-- name: since
SELECT h.stream AS subject, h.version, h.agent_id, h.hidden, NULL AS handle, h.revision
FROM log.hidden AS h WHERE h.revision > $1
UNION ALL
SELECT n.subject, NULL, NULL, n.withheld, n.handle, n.revision FROM account.renamed AS n WHERE n.revision > $1
ORDER BY revision LIMIT $2

-- name: places
SELECT e.shard, e.position FROM log.event AS e WHERE e.stream = $1 AND e.version = ANY ($2) ORDER BY e.position

-- name: naming
SELECT shard, position FROM log.naming($1) ORDER BY shard, position

-- name: announcing
SELECT shard, position FROM log.announcing($1) ORDER BY shard, position

-- name: notices
SELECT kind, game_id, until, note, at FROM account.notice WHERE subject = ANY ($1) ORDER BY at DESC, stream, version DESC LIMIT $2

-- name: revision
SELECT greatest(
  (SELECT coalesce(max(h.revision), 0) FROM log.hidden AS h), (SELECT coalesce(max(n.revision), 0) FROM account.renamed AS n)
)

-- name: changed
SELECT n.game_id, max(n.at) FROM account.notice AS n WHERE n.game_id = ANY ($1) GROUP BY n.game_id
UNION ALL
SELECT n.subject, max(n.at) FROM account.notice AS n
WHERE n.subject = ANY ($1) AND n.kind IN ('renamed', 'name_hidden', 'name_restored') GROUP BY n.subject

-- name: decisions
SELECT revision, type, data FROM log.decision ORDER BY revision

-- name: all_hidden
SELECT stream, version, agent_id, hidden, revision FROM log.hidden

-- name: all_renamed
SELECT subject, handle, withheld, revision FROM account.renamed

-- name: all_bans
SELECT subject, banned, until, revision FROM account.ban

-- name: rebuild
SELECT log.rebuild_moderation()
