-- The superuser runs this first, when the database is created. It lets the owner of the database (`migrations`) create the
-- schemas without being a superuser. The services' logins, each a member of some of these roles, are created elsewhere.
CREATE ROLE playmolt_owner NOLOGIN;
CREATE ROLE playmolt_engine NOLOGIN;
CREATE ROLE playmolt_relay NOLOGIN;
CREATE ROLE playmolt_gateway NOLOGIN;
CREATE ROLE playmolt_reader NOLOGIN;
CREATE ROLE playmolt_vault NOLOGIN;
-- One role for each type of game: its members append to and read the streams of that game.
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
-- `migrations` owns the objects that these roles may use; as their member it lets `playmolt doctor` see that they exist.
GRANT playmolt_engine, playmolt_relay, playmolt_gateway, playmolt_reader, playmolt_vault TO migrations;
GRANT playmolt_game_agora, playmolt_game_experiment, playmolt_game_jury, playmolt_game_legal, playmolt_game_ox,
  playmolt_game_panel, playmolt_game_tournament, playmolt_game_trial TO migrations;
-- A migration can connect when the services use all other connections.
GRANT pg_use_reserved_connections TO migrations;
