# A login for each service, with the rights of its group and no others.
login() {
  psql --no-psqlrc --set ON_ERROR_STOP=1 --username postgres --dbname playmolt \
    --set name="$1" --set group="$2" --set password="$3" <<'SQL'
CREATE ROLE :"name" LOGIN PASSWORD :'password' IN ROLE :"group";
SQL
}
login gateway playmolt_gateway "${GATEWAY_PASSWORD:?}"
login relay playmolt_relay "${RELAY_PASSWORD:?}"
login trial-engine playmolt_engine "${TRIAL_ENGINE_PASSWORD:?}"
login ox-engine playmolt_engine "${OX_ENGINE_PASSWORD:?}"
login legal-orchestrator playmolt_engine "${LEGAL_ORCHESTRATOR_PASSWORD:?}"
login agora-runner playmolt_engine "${AGORA_RUNNER_PASSWORD:?}"
login reader playmolt_reader "${READER_PASSWORD:?}"
