# Creates the owner of the database, which runs the migrations.
psql --no-psqlrc --set ON_ERROR_STOP=1 --username postgres --dbname playmolt --set password="${MIGRATIONS_PASSWORD:?}" <<'SQL'
CREATE ROLE migrations LOGIN PASSWORD :'password';
ALTER DATABASE playmolt OWNER TO migrations;
SQL
