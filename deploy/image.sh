#!/usr/bin/env bash
# Builds the image and tests it: `make image`. Uses buildah, podman or docker, the first one that works. BUILD_OPTIONS are
# passed to the build (for the certificates of a proxy, for example), RUN_OPTIONS to the test runs.
#
# If REGISTRY is set, the tested image is pushed to REGISTRY/playmolt under its tag. If REPORT is set, that file receives the
# image's name, version, tag and digest. Without REGISTRY, the digest is that of the archive ARCHIVE, from which the image
# can be copied unchanged.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(<VERSION)
tag=$(deploy/tag.sh)
name=${REGISTRY:+$REGISTRY/}playmolt
image=$name:$tag

say() { echo "$*" >&2; }

engine=
for program in buildah podman docker; do
  if "$program" info >/dev/null 2>&1; then engine=$program && break; fi
done
if [ -z "$engine" ]; then
  say "neither buildah nor podman nor docker works here: an image cannot be built without one of them"
  exit 1
fi
if [ "$engine" = docker ] && [ -n "${REPORT:-}" ] && [ -z "${REGISTRY:-}" ]; then
  say "docker knows the digest of an image only after a push: set REGISTRY, or install buildah or podman"
  exit 1
fi

arguments=(--build-arg "TAG=$tag" --build-arg "COMMIT=$(git rev-parse HEAD)" --file deploy/Dockerfile --tag "$image")
# shellcheck disable=SC2086 # several options are meant to be several words
if [ "$engine" = buildah ]; then
  buildah build ${BUILD_OPTIONS:-} --format docker "${arguments[@]}" .
  container=$(buildah from --pull-never "$image")
  trap 'buildah rm "$container" >/dev/null' EXIT
  inside() { buildah run ${RUN_OPTIONS:-} "$container" -- "$@"; }
else
  "$engine" build ${BUILD_OPTIONS:-} "${arguments[@]}" .
  inside() { "$engine" run --rm --read-only --tmpfs /tmp ${RUN_OPTIONS:-} "$image" "$@"; }
fi

fail() { say "the image is wrong: $*"; exit 1; }

[ "$(inside id -u)" = 10001 ] || fail "it runs as $(inside id -u)"
if inside sh -c 'touch /opt/playmolt/written' 2>/dev/null; then fail "a process in it can change the program"; fi
[ "$(inside playmolt --version)" = "playmolt, version $version" ] || fail "its version is $(inside playmolt --version)"
inside python -c "$(<deploy/imports.py)" || fail "a module does not import"
inside python -c '
from playmolt_core.db.migrate import migrations
from pathlib import Path
import playmolt_gateway
texts = sorted((Path(playmolt_gateway.__file__).parent / "texts").iterdir())
assert texts and all(text.stat().st_size > 500 for text in texts), texts
print(f"{len(migrations())} migrations, {len(texts)} texts for bots")
' || fail "data files are missing"
# A server in the image starts, answers its health check and stops.
inside sh -c '
python -m playmolt_devchain --folder /tmp/chain --port 18545 --funded 0x1111111111111111111111111111111111111111 & server=$!
for _ in $(seq 240); do
  if HEALTH_URL=http://127.0.0.1:18545/healthz python -c "import os, urllib.request as r; r.urlopen(os.environ[\"HEALTH_URL\"], timeout=4)" 2>/dev/null
  then kill -TERM $server; wait $server; exit; fi
  sleep 0.5
done
exit 1' || fail "a server in it does not answer or does not stop"
echo "$image is built and runs"

# Pushes the image, or writes the archive, and prints the digest by which a cluster pulls it.
publish() {
  local digest
  digest=$(mktemp)
  if [ "$engine" = docker ]; then
    docker push --quiet "$image" >&2
    docker image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' "$image" | sed -n "s|^$name@||p" | head -1
  elif [ -n "${REGISTRY:-}" ]; then
    "$engine" push --quiet --digestfile "$digest" "$image" "docker://$image" >&2
    cat "$digest"
  else
    rm -f "${ARCHIVE:?}"
    "$engine" push --quiet --digestfile "$digest" "$image" "oci-archive:$ARCHIVE:$tag" >&2
    cat "$digest"
  fi
  rm -f "$digest"
}

if [ -n "${REPORT:-}" ]; then
  digest=$(publish)
  [[ $digest =~ ^sha256:[0-9a-f]{64}$ ]] || fail "its digest is unknown: '$digest'"
  printf '{"name": "%s", "version": "%s", "tag": "%s", "digest": "%s"}\n' "$name" "$version" "$tag" "$digest" >"$REPORT"
elif [ -n "${REGISTRY:-}" ]; then
  publish
fi
