# Creates a login for each service, with only the rights of its groups.
login() {
  psql --no-psqlrc --set ON_ERROR_STOP=1 --username postgres --dbname playmolt \
    --set name="$1" --set groups="$2" --set password="$3" <<'SQL'
CREATE ROLE :"name" LOGIN PASSWORD :'password' IN ROLE :groups;
SQL
}
login gateway playmolt_gateway "${GATEWAY_PASSWORD:?}"
login relay playmolt_relay "${RELAY_PASSWORD:?}"
login trial-engine "playmolt_engine, playmolt_vault, playmolt_game_trial, playmolt_game_jury, playmolt_game_panel" "${TRIAL_ENGINE_PASSWORD:?}"
login ox-engine "playmolt_engine, playmolt_game_ox" "${OX_ENGINE_PASSWORD:?}"
login legal-orchestrator "playmolt_engine, playmolt_vault, playmolt_game_legal" "${LEGAL_ORCHESTRATOR_PASSWORD:?}"
login agora-runner "playmolt_engine, playmolt_game_agora, playmolt_game_experiment" "${AGORA_RUNNER_PASSWORD:?}"
login tournament-engine "playmolt_engine, playmolt_game_tournament" "${TOURNAMENT_ENGINE_PASSWORD:?}"
login reader playmolt_reader "${READER_PASSWORD:?}"
login verifier "playmolt_reader, playmolt_vault, playmolt_game_legal, playmolt_game_jury" "${VERIFIER_PASSWORD:?}"
login eraser "playmolt_engine, playmolt_vault, playmolt_game_legal, playmolt_game_jury" "${ERASER_PASSWORD:?}"
