#!/usr/bin/env bash
# The whole life of an app on this machine: made, tested, published, reviewed, installed by somebody else, updated,
# taken back and removed. Everything happens in a temporary folder, with a home for each of the three people:
# ada writes the app, the maintainer runs the store, bob uses it.
#
#   examples/store/whole-life.sh            # with `roost` on the PATH
#   ROOST=target/debug/roost examples/store/whole-life.sh
set -euo pipefail

roost=$(realpath "$(command -v "${ROOST:-roost}")")
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"

as() { # as PERSON WORDS…: what this person does, shown and done
  local person=$1
  shift
  printf '\n%s$ roost %s\n' "$person" "$*" >&2
  ROOST_HOME="$work/$person" "$roost" "$@"
}

says() { # says TEXT: ends the script unless the answer of bob's agent has this text
  local answer
  answer=$(as bob call WordCount text="One sentence. And another.")
  printf '%s\n' "$answer"
  case $answer in *"$1"*) ;; *) echo "whole-life: no $1 in the answer" >&2 && exit 1 ;; esac
}

step() { printf '\n== %s\n' "$*"; }

step "ada makes an app and makes it her own"
as ada new app word_count --publisher @ada --summary "Counts words."
sed -i 's/"words": len(text.split())/"words": len(text.split()), "counted_by": "ada"/' word_count/singleton/word_count_agent.py
as ada test word_count

step "the maintainer opens a store"
as maintainer store init shelf --name "The shelf"
printf '\nmaintainer$ roost store serve shelf --port 0 &\n' >&2
# Not through `as`: what is ended at the end has to be the server, not the shell around it.
ROOST_HOME="$work/maintainer" "$roost" store serve shelf --port 0 >serving 2>serving.log &
server=$!
until grep -q listening serving; do kill -0 "$server" && sleep 0.1; done
address=$(sed -n 's/.*\(http:[^ ]*\).*/\1/p' serving)

step "ada publishes by an issue; the workflow receives it; the maintainer looks and approves"
as ada publish word_count --issue >body.md
as maintainer store receive shelf --number 1 --title "[RAPP] @ada/word_count v0.1.0" --author @ada --body body.md
as maintainer store review shelf 1
as maintainer store approve shelf 1

step "bob, on another home, finds it and installs it"
as bob store remove official
as bob store add "$address" --name shelf
as bob store search words
as bob install @ada/word_count --dry-run
as bob install @ada/word_count --yes
says '"counted_by": "ada"'

step "ada's next version asks for more, and goes over the network with a token"
sed -i 's/"version": "0.1.0"/"version": "0.2.0"/' word_count/*.json word_count/singleton/word_count_agent.py
sed -i 's/^import json$/import json\nimport os/; s/"counted_by": "ada"/"counted_by": os.environ.get("WORD_COUNT_NAME", "ada, twice")/' \
  word_count/singleton/word_count_agent.py
token=$(as maintainer store token shelf create @ada --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["token"])')
submission=$(ROOST_STORE_TOKEN=$token as ada publish word_count --store "$address" --json |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["submission"])')
as maintainer store review shelf "$submission"
as maintainer store approve shelf "$submission"

step "bob's update waits for him, because it asks for a right; the old version keeps running"
as bob store refresh
as bob update word_count
says '"counted_by": "ada"'
as bob update word_count --approve --yes
says '"counted_by": "ada, twice"'

step "bob goes back to the version before, then removes the app"
as bob update word_count --rollback --yes
says '"counted_by": "ada"'
as bob remove word_count
as bob apps
test -d bob/.brainstem_data/workspaces/word_count

step "done: the app is gone, its workspace is still bob's"
