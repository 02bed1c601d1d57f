#!/usr/bin/env bash
# Builds the web UI and the release binary, and becomes the host. Arguments are those of `roost up`.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if command -v npm >/dev/null 2>&1; then
    scripts/web.sh || echo "going on without the web UI: the page at / is a plain list of the agents" >&2
fi
cargo build --release --package roost-cli
exec "${CARGO_TARGET_DIR:-target}/release/roost" up "$@"
