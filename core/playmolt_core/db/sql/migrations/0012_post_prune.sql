-- Only once no engine runs that does not know of archived streams: it would fold what is left of one.
SET LOCAL ROLE playmolt_owner;

-- Enters finished streams in the register of archived ones and deletes their records, all or none, and gives the number
-- of records deleted. `p_streams` is an array of {stream, version, hash}, as the file `p_file` holds them; whoever calls
-- has read the file back. Nobody may call it but the owner.
CREATE FUNCTION log.prune(p_streams json, p_file text, p_sha256 bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  names   text[];
  wrong   text;
  removed bigint;
BEGIN
  SELECT array_agg(a.stream) INTO names FROM json_to_recordset(p_streams) AS a (stream text);

  PERFORM FROM log.stream AS s WHERE s.stream = ANY (names) ORDER BY s.stream FOR NO KEY UPDATE;

  SELECT min(a.stream) INTO wrong
  FROM json_to_recordset(p_streams) AS a (stream text, version integer, hash text)
  LEFT JOIN log.stream AS s ON s.stream = a.stream
  LEFT JOIN log.event AS e ON e.stream = s.stream AND e.version = s.version
  WHERE (s.version = a.version AND s.hash = decode(a.hash, 'hex') AND s.over AND s.due IS NULL AND e.closes
         AND e.hash = s.hash) IS NOT TRUE;
  IF wrong IS NOT NULL THEN
    RAISE EXCEPTION '% is not finished at the version and hash that the file ends with', wrong
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;

  INSERT INTO log.archived (stream, version, hash, positions, file, sha256)
  SELECT
    s.stream, s.version, s.hash,
    coalesce(range_agg(int8range(e.position, e.position, '[]')) FILTER (WHERE e.type <> 'game_end'), '{}'),
    p_file, p_sha256
  FROM log.stream AS s JOIN log.event AS e USING (stream)
  WHERE s.stream = ANY (names) GROUP BY s.stream;

  DELETE FROM log.event AS e WHERE e.stream = ANY (names) AND e.type <> 'game_end';
  GET DIAGNOSTICS removed = ROW_COUNT;
  DELETE FROM log.outcome AS o WHERE o.stream = ANY (names);
  UPDATE log.stream AS s
  SET archived = true, hash = decode(repeat('00', 32), 'hex'), phase = NULL, round = NULL, seated = NULL, needed = NULL,
      over = NULL
  WHERE s.stream = ANY (names);
  RETURN removed;
END $$;

REVOKE ALL ON FUNCTION log.prune FROM PUBLIC;
