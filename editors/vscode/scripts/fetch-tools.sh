#!/usr/bin/env bash
# Fetches all that the tests of the extension use: its packages, the recorded code-server, and Chromium.
#
# Needs node 20 with npm. Chromium is installed where it is missing, this is Debian and one is root.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v npm >/dev/null; then
    echo "no npm found: install node 20 with npm" >&2
    exit 1
fi
npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error &
packages=$!
scripts/fetch-engine.sh &
engine=$!
if ! command -v chromium >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends chromium fonts-dejavu-core >/dev/null
fi
wait "$packages"
wait "$engine"
