#!/usr/bin/env bash
# Runs a command beside a PostgreSQL server of its own, which ends and leaves nothing behind when the command does.
#
#   scripts/with-postgres.sh COMMAND…     ROOST_TEST_POSTGRES is the URL; where it is set already, only the command runs
#   scripts/with-postgres.sh --stop URL   ends that server as a power cut would; for tests of what survives one
#   scripts/with-postgres.sh --start URL  starts it again
#   scripts/with-postgres.sh --programs   the folder with the programs of the server; fails where there is none
#
# The server has no port: it listens on a socket in a folder that only its user and root may enter, and trusts them.
set -euo pipefail

say() {
    echo "with-postgres: $*" >&2
}

# Debian keeps the server's programs out of the search path, one folder for each version.
find_programs() {
    local found
    found=$(printf '%s\n' /usr/lib/postgresql/*/bin/initdb | sort -V | tail -n 1)
    if [ ! -x "$found" ] && ! found=$(command -v initdb); then
        say "there is no PostgreSQL server here; scripts/setup.sh test installs it"
        return 1
    fi
    dirname "$found"
}

# PostgreSQL refuses to run as root.
find_account() {
    id -un postgres 2>/dev/null || id -un nobody
}

# From inside the folder: another user may not be allowed to enter the caller's.
as_server() {
    if [ "$(id -u)" -eq 0 ]; then
        (cd "$folder" && exec setpriv --reuid "$(find_account)" --regid "$(id -g "$(find_account)")" --clear-groups "$@")
    else
        (cd "$folder" && exec "$@")
    fi
}

# Not below /tmp: that is often memory, and what a durable write costs is measured here.
make_cluster() {
    folder=$(mktemp -d /var/tmp/roost-postgres.XXXXXX)
    : >"$folder/log"
    if [ "$(id -u)" -eq 0 ]; then
        chown "$(find_account)" "$folder" "$folder/log"
    fi
    # Nobody needs a new cluster to survive a power cut. From then on every commit is as durable as in real use.
    as_server "$programs/initdb" --no-sync --no-instructions --auth=trust --username=postgres --encoding=UTF8 \
        --no-locale --pgdata="$folder/data" >>"$folder/log" 2>&1 || explain "initdb did not make a cluster"
    cat >>"$folder/data/postgresql.conf" <<SETTINGS
listen_addresses = ''
unix_socket_directories = '$folder'
port = 5432
max_connections = 200
fsync = on
full_page_writes = on
synchronous_commit = on
SETTINGS
}

start_server() {
    as_server "$programs/pg_ctl" start --wait --silent --pgdata="$folder/data" --log="$folder/log" </dev/null >&2 ||
        explain "the server did not start"
}

stop_server() {
    local mode=$1
    if [ -e "$folder/data/postmaster.pid" ]; then
        as_server "$programs/pg_ctl" stop --wait --silent --mode="$mode" --timeout=20 --pgdata="$folder/data" >&2
    fi
}

explain() {
    say "$*:"
    tail -n 20 "$folder/log" >&2
    exit 1
}

# Both kinds of clients read a socket's folder in the place of the host. It holds no other signs than slashes.
url_of_folder() {
    echo "postgres://postgres@${folder//\//%2F}/postgres"
}

folder_of_url() {
    local rest=${1#*@}
    rest=${rest%%/*}
    echo "${rest//%2F//}"
}

remove_cluster() {
    local status=$?
    trap '' HUP INT TERM
    if [ -n "$folder" ]; then
        stop_server fast || stop_server immediate || say "the server in $folder does not stop"
        rm -rf "$folder"
    fi
    exit "$status"
}

# A key reaches every process in front of the terminal, the command too. A second signal would be one too many: cargo
# nextest then kills what it would have stopped.
has_heard_of_it() {
    local fields
    read -r fields <"/proc/$$/stat"
    read -r _ _ group _ _ front _ <<<"${fields##*) }"
    [ "$1" = INT ] && [ "$group" = "$front" ]
}

pass_on() {
    signalled=yes
    has_heard_of_it "$1" || kill -s "$1" "$command" 2>/dev/null || true
}

run_command() {
    # In the background, because the shell acts on signals only between commands and while it waits. It gives such a
    # command no input and makes it deaf to the keyboard; both are undone.
    (
        trap - HUP INT QUIT TERM
        exec "$@"
    ) <&0 &
    command=$!
    for signal in HUP INT TERM; do
        # shellcheck disable=SC2064 # each signal has its own word
        trap "pass_on $signal" "$signal"
    done
    local status signalled=yes
    # A signal ends the wait, not the command.
    while [ -n "$signalled" ]; do
        signalled= status=0
        wait "$command" || status=$?
    done
    return "$status"
}

case "${1:-}" in
    --programs)
        find_programs
        exit
        ;;
    --start | --stop)
        [ $# -eq 2 ] || exit 2
        programs=$(find_programs)
        folder=$(folder_of_url "$2")
        if [ "$1" = --start ]; then start_server; else stop_server immediate; fi
        exit
        ;;
    "" | -*)
        echo "use: scripts/with-postgres.sh COMMAND…" >&2
        exit 2
        ;;
esac

if [ -n "${ROOST_TEST_POSTGRES:-}" ]; then
    exec "$@"
fi
# What leads to another server must lead neither the command nor the programs below there.
unset "${!PG@}"
programs=$(find_programs)
folder=
trap remove_cluster EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
make_cluster
start_server
ROOST_TEST_POSTGRES=$(url_of_folder)
# Debian's psql in the search path is a script that looks for this one.
case ":$PATH:" in
    *":$programs:"*) ;;
    *) PATH=$programs:$PATH ;;
esac
export ROOST_TEST_POSTGRES PATH
run_command "$@"
