#!/usr/bin/env bash
# Fetches the recorded version of code-server, a VS Code whose window is a web page, for the extension's tests.
#
# usage: fetch-engine.sh [DIRECTORY]     (default: a folder of the user's cache, where the tests look for it)
#
# Needs node 20 with npm, and a C++ compiler for one of code-server's modules. Nothing is installed elsewhere.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
version=$(cat "$here/engine-version")
directory=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/phobos/code-server-$version}

if [ -e "$directory/complete" ]; then
    exit 0
fi
rm -rf "$directory"
mkdir -p "$directory"
cd "$directory"
echo '{ "private": true }' >package.json
options=(--no-audit --no-fund --no-update-notifier --loglevel=error)
npm install "${options[@]}" --ignore-scripts "code-server@$version"
(cd node_modules/code-server/lib/vscode && npm install "${options[@]}" --omit=dev --ignore-scripts)
# The one module that does not start without its native part. Headers come with Debian's node.
if [ -e /usr/include/node/node.h ]; then
    export npm_config_nodedir=/usr
fi
npm rebuild "${options[@]}" argon2
touch complete
