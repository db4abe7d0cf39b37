-- Group roles that the services' logins belong to. They belong to the whole server, so another database may have made
-- them, or be making them right now.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['playmolt_owner', 'playmolt_engine', 'playmolt_relay', 'playmolt_gateway', 'playmolt_reader']
  LOOP
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', name);
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;
    END;
  END LOOP;
  -- A migrator that is no superuser has to be able to make things in the owner's name.
  IF NOT pg_has_role(current_user, 'playmolt_owner', 'USAGE') THEN
    EXECUTE format('GRANT playmolt_owner TO %I', current_user);
  END IF;
END $$;
