-- The newest position that left the log with an erased session: NATS must hold nothing from before it.
CREATE INDEX CONCURRENTLY IF NOT EXISTS archived_erased ON log.archived (upper(positions)) WHERE file = '';
