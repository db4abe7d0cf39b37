-- The texts of a session, to be deleted with it.
CREATE INDEX CONCURRENTLY IF NOT EXISTS text_stream ON blob.text (stream) WHERE stream IS NOT NULL;
