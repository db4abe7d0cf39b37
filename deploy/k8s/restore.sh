#!/usr/bin/env bash
# Shows which steps of restore.md are done. It only reads from the cluster.
#
#   deploy/k8s/restore.sh list
#   deploy/k8s/restore.sh check OVERLAY [STEP]
#
# Exit: 0 all steps are done, 1 a step is open, 2 wrong arguments or no cluster.
set -euo pipefail

fail() {
  echo "$*" >&2
  exit 2
}

usage='restore.sh list | restore.sh check OVERLAY [STEP], as in deploy/k8s/overlays/recovery'
page="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/restore.md"
list() { awk '/^## [0-9][0-9] / { print $2, $3 }' "$page"; }

# The commands under *Done when* of a step.
done_when() { awk -v step="$1" '
  /^## / { inside = ($3 == step); asked = 0 }
  inside && /^\*Done when\*/ { asked = 1; next }
  asked && /^```/ { fence = !fence; if (!fence) exit; next }
  asked && fence' "$page"; }

case ${1:-} in
  list)
    [[ $# -eq 1 ]] || fail "$usage"
    list
    exit 0
    ;;
  check) [[ ($# -eq 2 || $# -eq 3) && -n $2 && $2 != -* ]] || fail "$usage" ;;
  *) fail "$usage" ;;
esac
overlay=$2
steps=$(list | awk -v only="${3:-}" 'only == "" || $2 == only { print $2 }')
[[ -n $steps ]] || fail "unknown step ${3:-}: restore.sh list names the steps"

rendered=$(kubectl kustomize "$overlay") || fail "$overlay does not render"
# The last value of a key in the object of the given kind and name.
field() { awk -v kind="$1" -v name="$2" -v key="$3:" '
  function shown_value() { if (k == kind && n == name && value != "") { print value; shown = 1 } }
  $1 == "---" { shown_value(); k = n = value = "" }
  /^kind:/ { k = $2 }
  /^  name:/ { n = $2 }
  $1 == key { value = $2; gsub(/["\047]/, "", value) }
  END { if (!shown) shown_value() }' <<<"$rendered"; }
export OVERLAY=$overlay NAMESPACE TARGET SERVER
NAMESPACE=$(field Cluster postgres namespace)
TARGET=$(field Cluster postgres targetTime)
SERVER=$(field Cluster postgres serverName)
[[ -n $NAMESPACE && -n $TARGET && -n $SERVER ]] || fail "$overlay restores nothing: it lacks components/recovery"
kubectl version --request-timeout=10s >/dev/null 2>&1 || fail "no cluster answers: kubectl version says why"

for step in $steps; do
  missing=$(bash -euo pipefail -c "$(done_when "$step")" 2>&1) || missing=${missing:-the check failed}
  if [[ -n $missing ]]; then
    echo "open $step: ${missing//$'\n'/; }"
    exit 1
  fi
  echo "ok $step"
done
