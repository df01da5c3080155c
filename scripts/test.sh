#!/usr/bin/env bash
# scripts/test.sh [PRESET [CTEST ARGUMENT …]]: installs what is missing, builds and runs the tests.
# Ends with one line: N passed, N failed. KVEDIT_TARGETS: build these only (then pick their tests).
#
# scripts/test.sh --engines [PYTEST ARGUMENT …]: instead the tests on running engines, the released
# vLLM and LMCache; sets up what they need, see engines_env.sh. KVEDIT_ENGINES: the folder for that.
#
# PRESET is release when none is given; dev, asan, tsan, clang, fuzz: see CMakePresets.json.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/usage.sh
source "$root/scripts/usage.sh"
asked_for_usage "$@"
[[ ${1:-} == --engines ]] || check_preset "${1-release}" --engines
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# test_engines [PYTEST ARGUMENT …]
test_engines() {
  local folder=${KVEDIT_ENGINES:-$root/build/engines-env} status=0 last line
  "$root/scripts/engines_env.sh" "$folder"
  cd "$root"
  env -u PYTHONPATH "$folder/bin/python" -B -m pytest -c tests/engines/pytest.ini -m engines "$@" \
    tests/engines tests/interop 2>&1 | tee "$log" || status=$?
  last=$(tail -n 1 "$log")
  counted() { [[ $last =~ ([0-9]+)\ $1 ]] && echo "${BASH_REMATCH[1]}" || echo 0; }
  line="$(counted passed) passed, $(($(counted failed) + $(counted error))) failed"
  [[ $(counted skipped) == 0 ]] || line+=", $(counted skipped) skipped"
  echo "$line"
  return "$status"
}

if [[ ${1:-} == --engines ]]; then
  test_engines "${@:2}"
  exit
fi

preset=${1-release}
(($# == 0)) || shift

"$root/scripts/python_env.sh"
read -r -a targets <<<"${KVEDIT_TARGETS:-}"
"$root/scripts/build.sh" "$preset" "${targets[@]}"

cd "$root"
status=0
ctest --preset "$preset" --parallel "${JOBS:-$(nproc)}" "$@" 2>&1 | tee "$log" || status=$?

# "97% tests passed, 3 tests failed out of 100"
counts=$(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests\{0,1\} failed out of \([0-9]*\)$/\1 \2/p' "$log")
if [[ -z $counts ]]; then
  echo "kvedit: ctest ran nothing" >&2
  exit 1
fi
read -r failed total <<<"$counts"
skipped=$(grep -c -E '\*\*\*(Skipped|Not Run \(Disabled\))' "$log" || true)
line="$((total - failed - skipped)) passed, $failed failed"
((skipped == 0)) || line+=", $skipped skipped"
echo "$line"
exit "$status"
