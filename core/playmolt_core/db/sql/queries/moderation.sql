-- name: begin
SELECT version, hash, newest FROM log.begin_moderation($1)

-- name: said
SELECT version, agent_id FROM log.said($1, $2, $3, $4, $5) ORDER BY version, agent_id

-- name: hidden
SELECT version, agent_id FROM log.hidden WHERE stream = $1 AND hidden

-- name: renamed
SELECT n.handle, n.withheld FROM account.renamed AS n WHERE n.subject = $1 AND n.handle IS NOT NULL

-- name: ban
SELECT b.until FROM account.ban AS b WHERE b.subject = $1 AND b.banned AND (b.until IS NULL OR b.until > $2)

-- name: exists
SELECT EXISTS (SELECT FROM account.agent WHERE id = $1) OR EXISTS (SELECT FROM account.owner WHERE id = $1)

-- name: neutral_handle
SELECT account.neutral_handle($1)

-- name: moderate
SELECT log.moderate($1, $2, $3, $4, $5)

-- name: bans_of
SELECT a.id, b.subject, b.until
FROM account.agent AS a JOIN account.ban AS b ON b.subject IN (a.id, a.owner_id)
WHERE a.id = ANY ($1) AND b.banned AND (b.until IS NULL OR b.until > clock_timestamp())

-- name: bans
SELECT b.subject, b.until FROM account.ban AS b
WHERE b.subject = ANY ($1) AND b.banned AND (b.until IS NULL OR b.until > clock_timestamp())

-- name: hidden_since
SELECT stream, version, agent_id, hidden, revision FROM log.hidden WHERE revision > $1 ORDER BY revision LIMIT $2

-- name: renamed_since
SELECT subject, handle, withheld, revision FROM account.renamed WHERE revision > $1 ORDER BY revision LIMIT $2

-- name: notices
SELECT kind, game_id, until, note, at FROM account.notice WHERE subject = ANY ($1) ORDER BY at DESC, stream, version DESC LIMIT $2

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
