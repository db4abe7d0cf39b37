-- Who sits where and who opened what is found by bytes, as every other text: a library of the machine whose order changes
-- with its version breaks no index. Each statement may be run again.
SET ROLE playmolt_owner;

DROP INDEX CONCURRENTLY IF EXISTS log.event_joined_bytes;
CREATE INDEX CONCURRENTLY event_joined_bytes ON log.event ((data ->> 'agent_id') COLLATE "C", stream) WHERE type = 'agent_joined';
DROP INDEX CONCURRENTLY IF EXISTS log.event_opened_by_bytes;
CREATE INDEX CONCURRENTLY event_opened_by_bytes ON log.event ((metadata ->> 'actor') COLLATE "C", stream) WHERE version = 1;

-- An index is used by what compares in its own order.
CREATE OR REPLACE FUNCTION log.joined_by(p_agent text) RETURNS SETOF text ROWS 20
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT e.stream FROM log.event AS e
  WHERE e.type = 'agent_joined' AND (e.data ->> 'agent_id') COLLATE "C" = p_agent AND NOT EXISTS (
      SELECT FROM log.event AS l
      WHERE l.stream = e.stream AND l.version > e.version AND l.type = 'agent_left' AND l.data ->> 'agent_id' = p_agent
    )
    AND log.type_of(e.stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(e.stream)]))
$$;
CREATE OR REPLACE FUNCTION log.opened_by(p_actor text) RETURNS SETOF text ROWS 20
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT e.stream FROM log.event AS e
  WHERE e.version = 1 AND (e.metadata ->> 'actor') COLLATE "C" = p_actor
    AND log.type_of(e.stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(e.stream)]))
$$;

DROP INDEX CONCURRENTLY IF EXISTS log.event_joined;
ALTER INDEX log.event_joined_bytes RENAME TO event_joined;
DROP INDEX CONCURRENTLY IF EXISTS log.event_opened_by;
ALTER INDEX log.event_opened_by_bytes RENAME TO event_opened_by;
