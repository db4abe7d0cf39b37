#!/usr/bin/env bash
# Prints the tag of a build: the version, the commit, and whether the tree is as committed. No two commits share one.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(git rev-parse HEAD)
changes=$(git status --porcelain)
echo "$(<VERSION)-g${commit:0:7}${changes:+.dirty}"
