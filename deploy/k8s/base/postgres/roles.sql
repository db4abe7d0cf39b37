-- Run by the superuser when the database is made, before anything else: what lets the owner of the database (`migrations`)
-- make the schemas without being a superuser. The logins of the services are made elsewhere, each a member of one of these.
CREATE ROLE playmolt_owner NOLOGIN;
CREATE ROLE playmolt_engine NOLOGIN;
CREATE ROLE playmolt_relay NOLOGIN;
CREATE ROLE playmolt_gateway NOLOGIN;
CREATE ROLE playmolt_reader NOLOGIN;
ALTER ROLE migrations CREATEROLE;
GRANT playmolt_owner TO migrations;
-- It owns what these may use; as a member it can be told by `playmolt doctor` that they are there.
GRANT playmolt_engine, playmolt_relay, playmolt_gateway, playmolt_reader TO migrations;
