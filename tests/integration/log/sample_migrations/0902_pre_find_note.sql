-- Each statement runs by itself, and the file may be run again from its first.
DROP INDEX CONCURRENTLY IF EXISTS log.stream_note;
CREATE INDEX CONCURRENTLY stream_note ON log.stream (note COLLATE "C") WHERE note IS NOT NULL;
