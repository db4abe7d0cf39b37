-- The games that are over, by the phase in which they ended: whoever asks for those of another phase reads none of them.
CREATE INDEX CONCURRENTLY IF NOT EXISTS stream_over ON log.stream (game, phase COLLATE "C", created_at DESC, stream DESC) WHERE over;
