#!/usr/bin/env bash
# Installs an overlay, or upgrades a running installation to it without losing an action. There are two calls, and until the
# second one you can roll back:
#
#   deploy/k8s/roll.sh OVERLAY            servers, migrations that also work with the old code, services
#   deploy/k8s/roll.sh --finish OVERLAY   migrations that work only with the new code, once no old pod is left
#
# FINISH_AFTER is the time that must pass before --finish, as in 24h (the default), 30m or 0s. The script stops at the first
# step that fails.
# Exit: 0 done, 1 a step failed, 2 wrong arguments or no cluster, 3 too early to finish, 4 old pods are left.
set -euo pipefail

say() { echo "$*" >&2; }

fail() {
  local status=$1
  shift
  say "$*"
  exit "$status"
}

usage='roll.sh [--finish] OVERLAY, as in deploy/k8s/overlays/dev'
finish=false
if [[ ${1:-} == --finish ]]; then
  finish=true
  shift
fi
[[ $# -eq 1 && -n $1 && $1 != -* ]] || fail 2 "$usage"
overlay=$1
wait_for=${FINISH_AFTER:-24h}
[[ $wait_for =~ ^([0-9]+)([smh])$ ]] || fail 2 "FINISH_AFTER is a number and s, m or h, not '$wait_for'"
case ${BASH_REMATCH[2]} in
  s) pause=$((10#${BASH_REMATCH[1]})) ;;
  m) pause=$((10#${BASH_REMATCH[1]} * 60)) ;;
  h) pause=$((10#${BASH_REMATCH[1]} * 3600)) ;;
esac

rendered=$(kubectl kustomize "$overlay") || fail 2 "$overlay does not render"
field() { awk -v job="$1" -v key="$2" '
  $1 == "---" { inside = 0 }
  $1 == "name:" && $2 == job { inside = 1 }
  inside && ($1 == key || $2 == key) { print $NF; exit }' <<<"$rendered"; }
image=$(field migrate-pre image:)
namespace=$(field migrate-pre namespace:)
[[ -n $image && -n $namespace ]] || fail 2 "$overlay has no Job migrate-pre with a namespace and an image"
kubectl version --request-timeout=10s >/dev/null 2>&1 || fail 2 "no cluster answers: kubectl version says why"

ask() { kubectl --namespace "$namespace" "$@"; }
# Applies the objects of a step, from the rendered overlay or from the text given. They go through standard input, because
# an argument of that length may be refused.
apply() { kubectl apply --filename - --selector "playmolt/step=$1" <<<"${2:-$rendered}"; }

# Formats seconds since 1970 as a UTC time, with GNU's or BSD's `date`.
at() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -r "$1" +%Y-%m-%dT%H:%M:%SZ; }

rolled() { ask rollout status --timeout=10m "$2" || fail 1 "$1: $2 did not roll out; the steps after it were not taken"; }

# Runs a migration Job. It polls, because `kubectl wait` for completion would notice a failure only at its timeout.
migrate() {
  local phase=$1 job=job/migrate-$1 ends=$((SECONDS + 960)) condition
  ask delete "$job" --ignore-not-found --timeout=2m
  # `migrate-post` is suspended in the overlay, so that applying a whole overlay does not run it.
  apply "$phase" "${rendered//suspend: true/suspend: false}"
  while ((SECONDS < ends)); do
    condition=$(ask get "$job" --output 'jsonpath={.status.conditions[?(@.status=="True")].type}') || condition=
    case " $condition " in
      *" Complete "*) return ;;
      *" Failed "*) break ;;
    esac
    sleep 2
  done
  ask logs "$job" --tail=50 >&2 || true
  fail 1 "$phase: $job did not complete; the steps after it were not taken"
}

# Pods of the services whose image is not the overlay's, or whose template is not the newest of their Deployment.
old_pods() {
  local newest
  newest=$(ask get replicasets --selector playmolt/step=services --output \
    'jsonpath={range .items[*]}{.metadata.ownerReferences[0].name}{"\t"}{.metadata.annotations.deployment\.kubernetes\.io/revision}{"\t"}{.metadata.labels.pod-template-hash}{"\n"}{end}' |
    sort -t "$(printf '\t')" -k1,1 -k2,2n | awk -F '\t' '{ hash[$1] = $3 } END { for (name in hash) print hash[name] }')
  ask get pods --selector playmolt/step=services --output \
    'jsonpath={range .items[*]}{.metadata.name}{"\t"}{.status.phase}{"\t"}{.metadata.labels.pod-template-hash}{"\t"}{.spec.initContainers[*].image} {.spec.containers[*].image}{"\n"}{end}' |
    awk -F '\t' -v newest="$newest" -v image="$image" '
      function repository(name) { sub(/@.*/, "", name); sub(/.*\//, "", name); sub(/:.*/, "", name); return name }
      BEGIN { split(newest, hashes, "\n"); for (n in hashes) present[hashes[n]] = 1 }
      $2 == "Succeeded" || $2 == "Failed" || $1 == "" { next }
      {
        old = !($3 in present)
        count = split($4, images, " ")
        for (n = 1; n <= count; n++) if (images[n] != image && repository(images[n]) == repository(image)) old = 1
        if (old) print $1
      }'
}

if $finish; then
  after=$(ask get configmap rollout --ignore-not-found --output 'jsonpath={.data.finish-after}')
  [[ -n $after ]] || fail 3 "there was no rollout: run roll.sh $overlay first"
  now=$(at "$(date +%s)")
  [[ ! $now < $after ]] || fail 3 "it is $now: --finish may run from $after on"
  old=$(old_pods)
  [[ -z $old ]] || fail 4 "old pods are left, and the last migrations work only with the new code:"$'\n'"$old"
  migrate post
  exit 0
fi

apply servers || fail 1 "servers: not applied; the steps after it were not taken"
rolled servers statefulset/nats
rolled servers deployment/otel-collector
if ask get statefulset/postgres >/dev/null 2>&1; then
  rolled servers statefulset/postgres
else
  ask wait cluster.postgresql.cnpg.io/postgres --for=condition=Ready --timeout=20m ||
    fail 1 "servers: the database is not ready; the steps after it were not taken"
fi
migrate pre
apply services || fail 1 "services: not applied; the steps after it were not taken"
for service in $(ask get deployments --selector playmolt/step=services --output name); do
  rolled services "$service"
done
now=$(date +%s)
ask create configmap rollout --dry-run=client --output yaml --from-literal "image=$image" \
  --from-literal "rolled-at=$(at "$now")" --from-literal "finish-after=$(at $((now + pause)))" | ask apply --filename -
echo "rolled out. From $(at $((now + pause))) on, once you will not roll back: roll.sh --finish $overlay"
