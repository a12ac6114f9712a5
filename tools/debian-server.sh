#!/usr/bin/env bash
# Unpacks a server of another Debian release, with the libraries that it needs. Installs nothing. Runs COMMAND with that
# server as REDIS_SERVER_BIN; without COMMAND, prints its path.
#   usage: debian-server.sh RELEASE PACKAGE [COMMAND...], such as: trixie valkey-server npm test
set -euo pipefail
release=$1 package=$2
shift 2
folder=$(cd "$(dirname "$0")/.." && pwd)/node_modules/.cache/servers/$release-$package
wrapper=$folder/$package
if [ ! -x "$wrapper" ]; then
  mkdir -p "$folder"/{lists,cache,root}/partial
  key=/usr/share/keyrings/debian-archive-keyring.gpg
  mirror=$({ grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null || true; } |
    grep -v snapshot | head -n 1 | tr -d ' ')
  echo "deb [signed-by=$key] $mirror $release main" >"$folder/sources.list"
  # The packages of experimental need others of unstable.
  [ "$release" != experimental ] || echo "deb [signed-by=$key] $mirror unstable main" >>"$folder/sources.list"
  : >"$folder/status"
  apt() {
    apt-get -qq -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null \
      -o "Dir::State::lists=$folder/lists" -o "Dir::State::status=$folder/status" -o "Dir::Cache=$folder/cache" "$@" >&2
  }
  apt update
  # With an empty status file all dependencies count as missing, so that the C library comes along.
  apt install -y --download-only --no-install-recommends --target-release "$release" "$package"
  for file in "$folder"/cache/archives/*.deb; do dpkg-deb -x "$file" "$folder/root"; done
  loader=$(find "$folder/root" -name 'ld-linux*' -type f | head -n 1)
  libraries=$(find "$folder/root" -name '*.so*' -printf '%h\n' | sort -u | paste -sd:)
  program=$(readlink -f "$folder/root/usr/bin/$package")
  # The name of the program decides in which mode it starts.
  printf '#!/bin/sh\nexec "%s" --argv0 %s --library-path "%s" "%s" "$@"\n' \
    "$loader" "$package" "$libraries" "$program" >"$wrapper"
  chmod +x "$wrapper"
fi
if [ $# -eq 0 ]; then
  echo "$wrapper"
else
  REDIS_SERVER_BIN=$wrapper TEST_REDIS=path exec "$@"
fi
