#!/usr/bin/env bash
# Prints the tag of a build: the version, the commit, and `.dirty` if there are uncommitted changes. Each commit has its own.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(git rev-parse HEAD)
changes=$(git status --porcelain)
echo "$(<VERSION)-g${commit:0:7}${changes:+.dirty}"
