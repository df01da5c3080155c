#!/usr/bin/env bash
# scripts/demo.sh: builds kvedit and does its main job in front of you: explains two registrations of real models and
# stores, wipes and brings back real bytes.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/usage.sh
source "$root/scripts/usage.sh"
asked_for_usage "$@"
no_more_than 0 "$@"
echo "kvedit: building what the demo shows: a few minutes on two cores, the first time" >&2
"$root/scripts/build.sh" release demo

bin=$root/build/release/bin
registrations=$root/tests/registrations

title() { printf '\n== %s\n\n' "$*"; }

# run EXPECTED_STATUS COMMAND …: shows the command, its output and what its status means.
run() {
  local expected=$1 status=0
  shift
  printf '$ %s\n' "${*/#$root\//}"
  (cd "$root" && "$@") || status=$?
  if [[ $status != "$expected" ]]; then
    echo "demo: exit status $status, expected $expected" >&2
    exit 1
  fi
}

title "Which rules there are, in the order in which they are asked"
run 0 "$bin/kvedit" rules

title "A hybrid model as vLLM registers it: state pages and kernel-paged attention in one arena"
run 0 "$bin/kvedit" explain "$registrations/qwen3.5-0.8b-flashinfer-nhd.json"

title "One captured from a running engine"
run 0 "$bin/kvedit" explain "$registrations/live-v0320-nemotron-h-kbs32.json"

title "One layer of it, with what every rule said"
run 0 "$bin/kvedit" explain --layer model.layers.1.mixer.attn \
  "$registrations/live-v0320-nemotron-h-kbs32.json"

title "The same first model without the standard rules: refused, not guessed"
run 1 "$bin/kvedit" explain --no-standard-rules "$registrations/qwen3.5-0.8b-flashinfer-nhd.json"

title "Real bytes: stored, wiped, brought back under other ids, compared; beside the naive reading"
run 0 "$bin/kvedit" verify "$registrations/live-v0320-nemotron-h-kbs32.json"

if [[ -x $bin/kvedit-roundtrip ]]; then
  title "The same with libtorch's tensors"
  run 0 "$bin/kvedit-roundtrip" "$registrations/qwen3.5-0.8b-flashinfer-nhd.json" \
    "$registrations/live-v0320-nemotron-h-kbs32.json"
else
  title "No libtorch in this build: the byte round trip is left out"
fi
