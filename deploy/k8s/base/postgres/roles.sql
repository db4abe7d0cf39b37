-- Run by the superuser when the database is made, before anything else: what lets the owner of the database (`migrations`)
-- make the schemas without being a superuser. The logins of the services are made elsewhere, each a member of one of these.
CREATE ROLE playmolt_owner NOLOGIN;
CREATE ROLE playmolt_engine NOLOGIN;
CREATE ROLE playmolt_relay NOLOGIN;
CREATE ROLE playmolt_gateway NOLOGIN;
CREATE ROLE playmolt_reader NOLOGIN;
CREATE ROLE playmolt_vault NOLOGIN;
-- One for each type of game: whose streams an engine appends to and reads.
CREATE ROLE playmolt_game_agora NOLOGIN;
CREATE ROLE playmolt_game_experiment NOLOGIN;
CREATE ROLE playmolt_game_jury NOLOGIN;
CREATE ROLE playmolt_game_legal NOLOGIN;
CREATE ROLE playmolt_game_ox NOLOGIN;
CREATE ROLE playmolt_game_panel NOLOGIN;
CREATE ROLE playmolt_game_tournament NOLOGIN;
CREATE ROLE playmolt_game_trial NOLOGIN;
ALTER ROLE migrations CREATEROLE;
GRANT playmolt_owner TO migrations;
-- It owns what these may use; as a member of them it lets `playmolt doctor` see that they exist.
GRANT playmolt_engine, playmolt_relay, playmolt_gateway, playmolt_reader, playmolt_vault TO migrations;
GRANT playmolt_game_agora, playmolt_game_experiment, playmolt_game_jury, playmolt_game_legal, playmolt_game_ox,
  playmolt_game_panel, playmolt_game_tournament, playmolt_game_trial TO migrations;
-- A migration finds a connection when services have taken all others.
GRANT pg_use_reserved_connections TO migrations;
