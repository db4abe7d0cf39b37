SET LOCAL ROLE playmolt_owner;

-- A model call of a stream on its way: from just before a request goes out until its reply is kept. `logged` is how many
-- requests of the turn the log held by then; `requests` those since, `tokens` and `money` what was reserved for them.
CREATE TABLE lease.in_flight (
  stream   text    PRIMARY KEY,
  turn     integer NOT NULL,
  agent    text    NOT NULL,
  ask      integer NOT NULL,
  logged   integer NOT NULL,
  requests integer NOT NULL,
  tokens   bigint  NOT NULL,
  money    numeric NOT NULL
);

REVOKE ALL ON lease.in_flight FROM PUBLIC;
GRANT SELECT, INSERT, UPDATE, DELETE ON lease.in_flight TO playmolt_engine;
