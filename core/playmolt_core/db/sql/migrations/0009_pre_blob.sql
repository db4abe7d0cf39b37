-- Long texts beside the log: prompts under their SHA-256, and models' replies under the key of their request.
CREATE SCHEMA blob AUTHORIZATION playmolt_owner;
SET LOCAL ROLE playmolt_owner;

CREATE TABLE blob.text (
  hash bytea       PRIMARY KEY CHECK (octet_length(hash) = 32),
  body text        NOT NULL,
  at   timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE blob.reply (
  key  bytea       PRIMARY KEY CHECK (octet_length(key) = 32),
  body text        NOT NULL,
  at   timestamptz NOT NULL DEFAULT now()
);

REVOKE ALL ON ALL TABLES IN SCHEMA blob FROM PUBLIC;
GRANT USAGE ON SCHEMA blob TO playmolt_engine, playmolt_reader;
GRANT SELECT, INSERT ON blob.text, blob.reply TO playmolt_engine;
GRANT SELECT ON blob.text, blob.reply TO playmolt_reader;
