#!/usr/bin/env bash
# Fetches the recorded version of code-server, a VS Code whose window is a web page, for the extension's tests.
#
# usage: fetch-engine.sh [DIRECTORY]     (default: a folder of the user's cache, where the tests look for it)
#
# Needs node 20 with npm, and a C++ compiler for two of its modules. Nothing is installed elsewhere.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
version=$(cat "$here/engine-version")
directory=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/phobos/code-server-$version}

vscode="$directory/node_modules/code-server/lib/vscode"
terminals="$vscode/node_modules/node-pty/build/Release/pty.node"
if [ -e "$directory/complete" ] && [ -e "$terminals" ]; then
    exit 0
fi
rm -rf "$directory"
mkdir -p "$directory"
cd "$directory"
echo '{ "private": true }' >package.json
options=(--no-audit --no-fund --no-update-notifier --loglevel=error)
npm install "${options[@]}" --ignore-scripts "code-server@$version"
(cd "$vscode" && npm install "${options[@]}" --omit=dev --ignore-scripts)
# The modules whose native parts are used. Headers come with Debian's node.
if [ -e /usr/include/node/node.h ]; then
    export npm_config_nodedir=/usr
fi
npm rebuild "${options[@]}" argon2
# Tasks run in terminals. The last step of this one, after it is built, is for its makers, and wants to download.
(cd "$vscode" && npm rebuild "${options[@]}" node-pty >rebuild.log 2>&1) || [ -e "$terminals" ] || {
    cat "$vscode/rebuild.log" >&2
    exit 1
}
touch complete
