#!/usr/bin/env bash
# Builds the web UI into web/dist, where the host's build finds it. Does nothing when nothing changed.
#
#   scripts/web.sh           packages where they are missing or old, then the page
#   scripts/web.sh packages  only the packages, of the page and of the browser tests
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The file that npm leaves behind is as new as what it installed.
install_packages() {
    local folder=$1
    if [ ! "$folder/node_modules/.package-lock.json" -nt "$folder/package-lock.json" ]; then
        echo "web: install the packages of $folder" >&2
        npm --prefix "$folder" ci --no-audit --no-fund --loglevel=error >&2
        touch "$folder/node_modules/.package-lock.json"
    fi
}

install_packages web
if [ "${1:-}" = packages ]; then
    install_packages tests/browser
    exit
fi
sources=(web/src web/bridge web/public web/index.html web/package-lock.json web/vite.config.ts web/svelte.config.js)
if [ ! -f web/dist/index.html ] || [ -n "$(find "${sources[@]}" -newer web/dist/index.html -print -quit)" ]; then
    echo "web: build the page" >&2
    npm --prefix web run --silent build >&2
fi
