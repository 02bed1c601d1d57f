#!/usr/bin/env bash
# Builds the release binary and becomes the host. Arguments are those of `roost up`.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
cargo build --release --package roost-cli
exec "${CARGO_TARGET_DIR:-target}/release/roost" up "$@"
