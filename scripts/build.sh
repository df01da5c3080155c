#!/usr/bin/env bash
# scripts/build.sh [PRESET [TARGET …]]: installs what is missing, configures and builds.
# PRESET is release when none is given; dev, asan, tsan, clang, fuzz: see CMakePresets.json.
# JOBS sets the number of compilers.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/usage.sh
source "$root/scripts/usage.sh"
asked_for_usage "$@"
preset=${1-release}
check_preset "$preset"
(($# == 0)) || shift

extra=()
case $preset in
  clang) extra=(clang++:clang) ;;
  asan | fuzz) extra=(clang++:clang libfuzzer:libclang-rt-14-dev) ;;
esac
"$root/scripts/setup.sh" "${extra[@]}"

cd "$root"
cmake --preset "$preset" "-DKVEDIT_TORCH_ROOT=${KVEDIT_TORCH_ROOT:-}" "-DKVEDIT_TORCH=${KVEDIT_TORCH:-ON}" \
  "-DKVEDIT_PYTHON=${KVEDIT_PYTHON:-ON}"
cmake --build --preset "$preset" --parallel "${JOBS:-$(nproc)}" ${1:+--target "$@"}
