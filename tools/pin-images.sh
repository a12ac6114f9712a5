#!/usr/bin/env bash
# Prints the images of the demo with their digests, for the environment of `docker compose` and `docker build`.
#   usage: eval "$(tools/pin-images.sh)" && docker compose up --build
# Needs a Docker client with buildx and a registry that responds; without one it prints no image and exits with 1.
set -euo pipefail

# pin VARIABLE IMAGE
pin() {
  local digest
  digest=$(docker buildx imagetools inspect "$2" --format '{{.Manifest.Digest}}') || {
    echo "pin-images: no registry responds for $2" >&2
    exit 1
  }
  printf 'export %s=%s@%s\n' "$1" "$2" "$digest"
}

cd "$(dirname "$0")/.."
pin NODE_IMAGE "${NODE_IMAGE:-node:24-slim}"
pin REDIS_IMAGE "${REDIS_IMAGE:-redis:7-alpine}"
