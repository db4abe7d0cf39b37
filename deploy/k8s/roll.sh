#!/usr/bin/env bash
# Installs an overlay or rolls a running one to it, without losing an action: servers, migrations that the old code
# bears, services, migrations that only the new code bears. It stops at the first step that fails.
#
#   deploy/k8s/roll.sh deploy/k8s/overlays/prod
set -euo pipefail

overlay=${1:?say which overlay, as in deploy/k8s/overlays/dev}
namespace=playmolt

apply() { kubectl apply --kustomize "$overlay" --selector "playmolt/step=$1"; }
rolled() { kubectl --namespace "$namespace" rollout status --timeout=10m "$1"; }

migrate() {
  kubectl --namespace "$namespace" delete job "migrate-$1" --ignore-not-found --timeout=2m
  apply "$1"
  if ! kubectl --namespace "$namespace" wait "job/migrate-$1" --for=condition=complete --timeout=16m; then
    kubectl --namespace "$namespace" logs "job/migrate-$1" --tail=50 >&2 || true
    echo "migrate-$1 did not complete: the steps after it were not taken" >&2
    exit 1
  fi
}

apply servers
rolled statefulset/nats
rolled deployment/otel-collector
if kubectl --namespace "$namespace" get statefulset/postgres >/dev/null 2>&1; then
  rolled statefulset/postgres
else
  kubectl --namespace "$namespace" wait cluster.postgresql.cnpg.io/postgres --for=condition=Ready --timeout=20m
fi
migrate pre
apply services
for service in $(kubectl --namespace "$namespace" get deployments --selector playmolt/step=services --output name); do
  rolled "$service"
done
migrate post
