#!/usr/bin/env bash
# scripts/test.sh [PRESET [CTEST ARGUMENT …]]: installs what is missing, builds and runs the tests.
# Ends with one line: N passed, N failed. KVEDIT_TARGETS: build these only (then pick their tests).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=${1:-release}
(($# == 0)) || shift

"$root/scripts/python_env.sh"
read -r -a targets <<<"${KVEDIT_TARGETS:-}"
"$root/scripts/build.sh" "$preset" "${targets[@]}"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
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
