-- name: enter_types
SELECT log.enter_types($1)

-- name: append
SELECT * FROM log.append($1, $2, $3, $4, $5, $6)

-- name: append_records
SELECT * FROM log.append($1, '{}', '{}', '{}', ARRAY[$2::smallint], ARRAY[$3::integer])

-- name: head
SELECT version, hash, updated_at, archived, erased_at FROM log.listed WHERE stream = $1 AND shard = $2

-- name: records
SELECT stream, version, position, type, schema_version, data, metadata, at, salt, prev_hash, hash
FROM log.event WHERE stream = $1 AND shard = $4 AND version > $2 AND version <= $3 ORDER BY version

-- name: facts
-- Returns two JSON texts for all events: one row per event would cost the client twice as much as the rest of a replay.
-- Times are seconds: a double holds them to the microsecond until the year 2242, and the server writes them in half the
-- time. concat() builds a text once; a chain of || builds it again at each step, in twice the time. Outcomes are selected
-- as a range: with `=`, a generic plan expects the average number of outcomes per stream, with which reading the whole
-- table seems cheap; and a new plan for each call takes three times as long as the reads.
SELECT
  s.version, s.hash, s.updated_at, s.archived, s.erased_at, f.events, f.times,
  CASE WHEN $3 THEN f.command_ids || ARRAY(
    SELECT replace(o.command_id::text, '-', '') FROM log.outcome AS o WHERE o.stream >= $1 AND o.stream <= $1 AND o.shard = $4
  ) ELSE '{}' END
FROM log.listed AS s
CROSS JOIN (
  SELECT
    concat('[', string_agg(concat('["', e.type, ':', e.schema_version, '",', e.data, ']'), ','), ']') AS events,
    concat('[', string_agg(date_part('epoch', e.at)::text, ','), ']') AS times,
    array_agg(replace(e.command::text, '-', '')) FILTER (WHERE $3 AND e.command IS NOT NULL) AS command_ids
  FROM (
    SELECT type, schema_version, data, at, command FROM log.event
    WHERE stream = $1 AND shard = $4 AND version > $2 AND version <= $5 ORDER BY version
  ) AS e
) AS f
WHERE s.stream = $1 AND s.shard = $4

-- name: snapshot
SELECT s.version, s.hash, s.state FROM lease.snapshot AS s
JOIN log.event AS e ON e.stream = s.stream AND e.shard = s.shard AND e.version = s.version AND e.hash = s.hash
WHERE s.stream = $1 AND s.shard = $2

-- name: keep_snapshot
INSERT INTO lease.snapshot AS s (stream, shard, version, hash, state) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (stream, shard) DO UPDATE SET version = excluded.version, hash = excluded.hash, state = excluded.state
WHERE s.version < excluded.version

-- name: outcome
SELECT encode(fingerprint, 'hex'), body FROM log.outcome WHERE stream = $1 AND command_id = $2::text::uuid AND shard = $3

-- name: decided
-- For a command whose answer follows from its records: their last version, the hash of the first, and the request.
SELECT max(e.version), (array_agg(e.hash ORDER BY e.version))[1], min(e.metadata ->> 'request')
FROM log.event AS e WHERE e.stream = $1 AND e.shard = $3 AND e.command = $2::text::uuid HAVING count(*) > 0

-- name: versions
SELECT stream, CASE WHEN erased_at IS NOT NULL THEN -2 WHEN archived THEN -1 ELSE version END AS version
FROM log.listed WHERE stream = ANY ($1)

-- name: present
SELECT stream, CASE WHEN erased_at IS NOT NULL THEN -2 WHEN archived THEN -1 ELSE version END::bigint AS version
FROM log.listed WHERE stream = ANY ($1)
UNION ALL
SELECT '', greatest(
  (SELECT coalesce(max(h.revision), 0) FROM log.hidden AS h), (SELECT coalesce(max(n.revision), 0) FROM account.renamed AS n)
)

-- name: forward
-- The columns of log.record from which `stored_rows` makes records, for part $4 of $5 parts of the streams.
SELECT r.number, r.version, r.position, r.type, r.schema_version, r.data::text, r.at, r.salt, r.hash, r.prev_hash,
  uuid_send(r.command), r.actor::text, r.request, r.trace, r.metadata::text, r.closes
FROM log.record AS r
WHERE r.shard = $3 AND r.position > $1 AND (r.number >> 4) % $5::integer = $4::integer
ORDER BY r.position LIMIT $2

-- name: origins
SELECT w.number, w.version, s.stream,
  (SELECT b.hash FROM log.record AS b WHERE b.number = w.number AND b.version = w.version - 1 AND b.shard = $3)
FROM unnest($1::bigint[], $2::integer[]) AS w (number, version)
CROSS JOIN LATERAL (SELECT f.stream FROM log.stream AS f WHERE f.number = w.number AND f.shard = $3 LIMIT 1) AS s

-- name: stream_types
SELECT DISTINCT game FROM log.stream

-- name: event_types
SELECT code, name FROM log.event_type

-- name: forward_positions
SELECT position FROM log.record WHERE shard = $3 AND position > $1 ORDER BY position LIMIT $2

-- name: missing_partitions
-- Tables are named as by `log.open_part`. None is missing if there is a default partition, which takes all other records.
WITH wanted AS (
  SELECT DISTINCT format(
    'log.record_%s_%s_%s', s.shard, (ARRAY['standing', 'game', 'session', 'kept'])[(s.number >> 48) + 1],
    (s.number & (1::bigint << 48) - 1) / (1 << 20)
  ) AS name
  FROM log.stream AS s WHERE s.shard = $1 AND s.version > 0 AND NOT s.archived
)
SELECT name FROM wanted
WHERE NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(name))
  AND NOT EXISTS (
    SELECT FROM pg_partitioned_table WHERE partrelid = to_regclass('log.record_' || $1) AND partdefid <> 0
  )
ORDER BY name

-- name: settle_reader
-- Makes Postgres use one plan for all batches, because planning takes as long as reading twenty rows. The plan must read
-- records by position, then look up the stream of each by its number. Without these settings, a table without statistics
-- seems to have one or two rows, and the plan reads all streams completely.
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET enable_sort = off;
SET enable_material = off;
SET enable_hashjoin = off

-- name: outgoing
-- The JSON of a Record, field by field: see schemas/playmolt_schemas/records.py. The quoted values are ASCII and need no
-- escapes; data and metadata are already JSON.
SELECT
  position, e.stream, t.name,
  convert_to(concat(
    '{"stream":"', e.stream, '","version":', e.version, ',"position":', position, ',"type":"', t.name,
    '","schema_version":', schema_version, ',"data":', data, ',"metadata":', metadata,
    ',"at":"', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '","salt":"', encode(salt, 'hex'),
    '","prev_hash":"', encode(prev_hash, 'hex'), '","hash":"', encode(e.hash, 'hex'), '"}'
  ), 'UTF8'),
  closes, CASE WHEN closes THEN '' ELSE coalesce(s.invite, '') END
FROM log.event AS e JOIN log.stream AS s ON s.stream = e.stream AND s.shard = e.shard
JOIN log.event_type AS t ON t.code = e.type_code
WHERE e.shard = $3 AND position > $1 ORDER BY position LIMIT $2

-- name: results
SELECT e.stream, e.version, e.position, e.type, e.schema_version, e.data, e.metadata, e.at, e.salt, e.prev_hash, e.hash,
  e.closes, s.invite IS NOT NULL, s.pace
FROM log.event AS e JOIN log.stream AS s ON s.stream = e.stream AND s.shard = e.shard
WHERE e.shard = $3 AND e.type_code = 1 AND e.position > $1 ORDER BY e.position LIMIT $2

-- name: last_records
SELECT s.stream, (SELECT t.name FROM log.event_type AS t WHERE t.code = e.type), e.schema_version, e.closes
FROM log.stream AS s
CROSS JOIN LATERAL (
  SELECT r.type, r.schema_version, r.closes FROM log.record AS r
  WHERE r.number = s.number AND r.shard = s.shard ORDER BY r.version DESC LIMIT 1
) AS e
WHERE s.shard = $3 AND NOT s.archived AND s.stream > $1 ORDER BY s.stream LIMIT $2

-- name: position
SELECT position FROM log.head WHERE shard = $1

-- name: positions
SELECT position FROM log.head ORDER BY shard

-- name: shards
SELECT count(*) FROM log.head

-- name: archived_to
SELECT coalesce(max(upper(positions)) - 1, 0) FROM log.archived WHERE shard = $1 AND NOT isempty(positions)

-- name: due
SELECT stream FROM log.stream WHERE game = $1 AND due <= $2 ORDER BY due, stream LIMIT $3

-- name: games
SELECT stream, phase, round, seated, needed, over, created_at, updated_at, version, language, pace, coalesce(invite, ''),
  tournament, tournament_round
FROM log.listed
WHERE game = $1 AND phase IS NOT NULL AND (created_at, stream) < ($2, $3) AND (invite IS NULL OR over OR $5)
ORDER BY created_at DESC, stream DESC LIMIT $4

-- name: games_in_phase
-- Running and finished games are selected separately, because each has its own index. A single query would read every
-- game that ever existed to find the few that wait.
(
  SELECT stream, phase, round, seated, needed, over, created_at, updated_at, version, language, pace, coalesce(invite, ''),
  tournament, tournament_round
  FROM log.listed
  WHERE game = $1 AND NOT over AND phase = $5 AND (created_at, stream) < ($2, $3) AND (invite IS NULL OR $6)
  ORDER BY created_at DESC, stream DESC LIMIT $4
)
UNION ALL
(
  SELECT stream, phase, round, seated, needed, over, created_at, updated_at, version, language, pace, coalesce(invite, ''),
  tournament, tournament_round
  FROM log.listed
  WHERE game = $1 AND over AND phase COLLATE "C" = $5 AND (created_at, stream) < ($2, $3)
  ORDER BY created_at DESC, stream DESC LIMIT $4
)
ORDER BY created_at DESC, stream DESC LIMIT $4

-- name: games_running
SELECT stream, phase, round, seated, needed, over, created_at, updated_at, version, language, pace, coalesce(invite, ''),
  tournament, tournament_round
FROM log.listed
WHERE game = $1 AND NOT over AND (created_at, stream) < ($2, $3)
  AND ($5::text IS NULL OR phase = $5) AND ($6::timestamptz IS NULL OR updated_at <= $6)
  AND (invite IS NULL OR $7)
ORDER BY created_at DESC, stream DESC LIMIT $4

-- name: games_of_agent
SELECT s.stream, s.phase, s.round, s.seated, s.needed, s.over, s.created_at, s.updated_at, s.version,
  s.language, s.pace, coalesce(s.invite, ''), s.tournament, s.tournament_round
FROM log.listed AS s
WHERE s.stream IN (SELECT * FROM log.joined_by($6))
  AND s.game = $1 AND s.phase IS NOT NULL AND ($5::text IS NULL OR s.phase = $5) AND (s.created_at, s.stream) < ($2, $3)
  AND (s.invite IS NULL OR s.over) AND ($7::text IS NULL OR s.tournament = $7)
ORDER BY s.created_at DESC, s.stream DESC LIMIT $4

-- name: game_of_invite
SELECT stream, phase, round, seated, needed, over, created_at, updated_at, version, language, pace, coalesce(invite, ''),
  tournament, tournament_round
FROM log.listed WHERE game = $1 AND invite = $2 AND phase IS NOT NULL

-- name: games_of_tournament
SELECT stream, phase, round, seated, needed, over, created_at, updated_at, version, language, pace, coalesce(invite, ''),
  tournament, tournament_round
FROM log.listed
WHERE tournament = $5 AND game = $1 AND phase IS NOT NULL AND (created_at, stream) < ($2, $3)
  AND ($6::text IS NULL OR phase = $6) AND NOT (over AND $7)
ORDER BY created_at DESC, stream DESC LIMIT $4

-- name: games_opened_by
SELECT s.stream, s.phase, s.round, s.seated, s.needed, s.over, s.created_at, s.updated_at, s.version,
  s.language, s.pace, coalesce(s.invite, ''), s.tournament, s.tournament_round
FROM log.listed AS s
WHERE s.stream IN (SELECT * FROM log.opened_by($5)) AND s.game = $1 AND s.phase IS NOT NULL
  AND (s.created_at, s.stream) < ($2, $3)
ORDER BY s.created_at DESC, s.stream DESC LIMIT $4

-- name: note_fault
SELECT lease.note_fault($1, $2, $3, $4)

-- name: report_faults
SELECT agent, kind, what, count FROM lease.report_faults($1)

-- name: archived
SELECT stream, version, hash, file FROM log.archived WHERE stream = ANY ($1)

-- name: unaccounted
SELECT lower(gap), upper(gap) - 1
FROM unnest($1::text::int8multirange - coalesce(
  (
    SELECT range_agg(taken) FROM log.archived AS a CROSS JOIN unnest(a.positions) AS taken
    WHERE a.positions && $1::text::int8multirange AND a.shard = $2
  ), '{}'
)) AS gap ORDER BY gap

-- name: totals
SELECT count(*), coalesce(sum(version), 0) FROM log.archived
