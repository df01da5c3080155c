#!/usr/bin/env bash
# scripts/check_wheel.sh [--wheel] [FOLDER]: the Python package as users get it. Builds an sdist, a wheel
# of the unpacked sdist and one of the clone, installs each into a fresh environment and runs the
# package's tests there; the wheel also under every other Python that is found (3.12 and later). Last
# line: N passed, N failed. FOLDER is build/wheel when none is given; the wheels stay in FOLDER/dist.
# --wheel leaves out the one of the clone, which engines_env.sh installs too.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/usage.sh
source "$root/scripts/usage.sh"
asked_for_usage "$@"
of_clone=yes
if [[ ${1:-} == --wheel ]]; then
  of_clone=no
  shift
fi
no_more_than 1 "$@"
folder=${1-$root/build/wheel}
check_folder "$folder"
python=${PYTHON:-python3}
limit=5000000
passed=0 failed=0

step() { printf -- '-- %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
quiet() { "$@" >"$folder/log" 2>&1 || { cat "$folder/log"; fail "$*"; }; }

# fresh_env PYTHON FOLDER: an environment with nothing but what the tests need.
fresh_env() {
  quiet "$1" -m venv "$2"
  quiet "$2/bin/pip" install --quiet --disable-pip-version-check -r "$root/python/tests/requirements.txt"
}

# run_tests ENVIRONMENT: the tests against the installed package; nothing of the clone is importable.
run_tests() {
  local counts status=0
  rm -rf "$folder/tests"
  mkdir "$folder/tests"
  cp -r "$root/python/tests" "$root/python/pyproject.toml" "$folder/tests"
  (cd "$folder/tests" && env -u PYTHONPATH "KVEDIT_TEST_DATA=$root/tests/registrations" \
    "$1/bin/python" -B -m pytest -q -p no:cacheprovider -c pyproject.toml tests) >"$folder/log" 2>&1 ||
    status=$?
  counts=$(tail -n 1 "$folder/log")
  echo "$counts"
  [[ $counts =~ ([0-9]+)\ passed ]] && passed=$((passed + BASH_REMATCH[1]))
  [[ $counts =~ ([0-9]+)\ failed ]] && failed=$((failed + BASH_REMATCH[1]))
  if [[ $status != 0 ]]; then
    cat "$folder/log"
    fail "the tests in $1"
  fi
}

# What every Linux has; everything else must be inside.
check_needs() {
  local file needed
  while read -r file; do
    while read -r needed; do
      case $needed in
        libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | ld-linux-*.so.* | libkvedit.so) ;;
        *) fail "$file needs $needed" ;;
      esac
    done < <(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
  done < <(find "$1" -name '*.so' -o -path '*/bin/kvedit')
  step "needs glibc $(find "$1" -name '*.so' -exec objdump -T {} + | grep -o 'GLIBC_[0-9.]*' | sort -uV |
    tail -n 1 | cut -d_ -f2) and nothing else"
}

"$root/scripts/setup.sh"
begin_folder "$folder"
mkdir "$folder/dist"

step "an sdist, unpacked far from the clone"
quiet "$python" -m venv "$folder/build-env"
quiet "$folder/build-env/bin/pip" install --quiet --disable-pip-version-check build
quiet "$folder/build-env/bin/python" -m build --sdist --outdir "$folder/dist" "$root/python"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tar -xzf "$folder"/dist/kvedit-*.tar.gz -C "$scratch"

step "a wheel of it"
quiet "$folder/build-env/bin/pip" wheel --no-deps -w "$folder/dist" "$scratch"/kvedit-*
wheel=$(echo "$folder"/dist/kvedit-*.whl)
size=$(stat -c %s "$wheel")
step "$(basename "$wheel"): $size bytes"
((size < limit)) || fail "the wheel has $size bytes, $limit are allowed"

step "installed into a fresh environment"
fresh_env "$python" "$folder/wheel-env"
quiet "$folder/wheel-env/bin/pip" install "$wheel"
check_needs "$(env -u PYTHONPATH "$folder/wheel-env/bin/python" -c \
  'import kvedit, os; print(os.path.dirname(kvedit.__file__))')"
[[ $("$folder/wheel-env/bin/kvedit" --version) == "kvedit "* ]] || fail "the program kvedit"
run_tests "$folder/wheel-env"

for other in python3.12 python3.13 python3.14; do
  if [[ $wheel == *-abi3-* ]] && "$other" -c 'import ensurepip, venv' 2>/dev/null; then
    step "the same wheel under $other"
    fresh_env "$other" "$folder/$other"
    quiet "$folder/$other/bin/pip" install "$wheel"
    run_tests "$folder/$other"
  fi
done

if [[ $of_clone == yes ]]; then
  step "pip install ./python, from the clone"
  fresh_env "$python" "$folder/clone-env"
  (cd "$root" && quiet "$folder/clone-env/bin/pip" install ./python)
  run_tests "$folder/clone-env"
fi

echo "$passed passed, $failed failed"
