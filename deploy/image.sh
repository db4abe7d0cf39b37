#!/usr/bin/env bash
# Builds the image and tries it: `make image`. With buildah, else docker or podman; BUILD_OPTIONS are passed to the build
# (a proxy's certificates, say), IMAGE names the result.
set -euo pipefail
cd "$(dirname "$0")/.."
image=${IMAGE:-playmolt:0.1.0}
for engine in buildah docker podman none; do
  if command -v "$engine" >/dev/null; then break; fi
done
if [ "$engine" = none ]; then
  echo "install buildah, docker or podman: an image cannot be built without one of them" >&2
  exit 1
fi

# shellcheck disable=SC2086 # several options are meant to be several words
if [ "$engine" = buildah ]; then
  buildah build ${BUILD_OPTIONS:-} --format docker --file deploy/Dockerfile --tag "$image" .
  container=$(buildah from --pull-never "$image")
  trap 'buildah rm "$container" >/dev/null' EXIT
  inside() { buildah run ${RUN_OPTIONS:-} "$container" -- "$@"; }
else
  "$engine" build ${BUILD_OPTIONS:-} --file deploy/Dockerfile --tag "$image" .
  inside() { "$engine" run --rm --read-only --tmpfs /tmp ${RUN_OPTIONS:-} "$image" "$@"; }
fi

fail() { echo "the image is not fit: $*" >&2; exit 1; }

[ "$(inside id -u)" = 10001 ] || fail "it runs as $(inside id -u)"
if inside sh -c 'touch /opt/playmolt/written' 2>/dev/null; then fail "its program can be changed from inside"; fi
inside playmolt --help >/dev/null || fail "the command does not start"
inside python -c '
import importlib, pkgutil, sys
for name in ("playmolt_schemas", "playmolt_core", "playmolt_gateway", "playmolt_spectator", "playmolt_trial", "playmolt_jury", "playmolt_trial_engine",
             "playmolt_devchain", "playmolt_ox", "playmolt_legal", "playmolt_agora", "playmolt", "playmolt_cli"):
    for module in pkgutil.walk_packages(importlib.import_module(name).__path__, name + "."):
        # What practises with an extra is for bot authors: no image has it.
        if not module.name.endswith("__main__") and not module.name.startswith("playmolt.env"):
            importlib.import_module(module.name)
print(sum(name.startswith("playmolt") for name in sys.modules), "modules of ours import")
' || fail "a module does not import"
inside python -c '
from playmolt_core.db.migrate import migrations
from pathlib import Path
import playmolt_gateway
texts = sorted((Path(playmolt_gateway.__file__).parent / "texts").iterdir())
assert texts and all(text.stat().st_size > 500 for text in texts), texts
print(f"{len(migrations())} migrations, {len(texts)} texts for bots")
' || fail "data files are missing"
# A server of it answers its own health check.
inside sh -c '
python -m playmolt_devchain --folder /tmp/chain --port 18545 --funded 0x1111111111111111111111111111111111111111 & server=$!
for _ in $(seq 60); do
  if HEALTH_URL=http://127.0.0.1:18545/healthz python -c "import os, urllib.request as r; r.urlopen(os.environ[\"HEALTH_URL\"], timeout=4)" 2>/dev/null
  then kill -TERM $server; wait $server; exit; fi
  sleep 0.5
done
exit 1' || fail "a server in it does not answer or does not end"
echo "$image is built and runs"
