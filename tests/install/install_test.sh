#!/usr/bin/env bash
# install_test.sh SOURCE BUILD SCRATCH: installs a build and uses it as strangers do; then moves the
# prefix and uses it again.
set -euo pipefail

source=$1 build=$2 scratch=$3
cmake=${CMAKE_COMMAND:-cmake}
registration=$source/tests/registrations/qwen3.5-0.8b-flashinfer-nhd.json
striped=$source/examples/striped-pack/striped.json

step() { printf -- '-- %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

# expect STATUS COMMAND …: runs it, keeps what it prints in $out, fails on another exit status.
expect() {
  local wanted=$1 status=0
  shift
  out=$("$@" 2>"$scratch/stderr") || status=$?
  [[ $status == "$wanted" ]] ||
    fail "exit status $status, not $wanted: $* $(printf '\n%s' "$out" | head -c 2000) $(cat "$scratch/stderr")"
}

# build_project SOURCE BUILD PREFIX [ARGUMENT …]
build_project() {
  local project=$1 folder=$2 prefix=$3
  shift 3
  rm -rf "$folder"
  "$cmake" -S "$project" -B "$folder" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_PREFIX_PATH=$prefix" \
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail "configuring $project"; }
  "$cmake" --build "$folder" >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail "building $project"; }
}

use_library() {
  step "a program that embeds the library of $1"
  build_project "$source/tests/install/consumer" "$scratch/consumer" "$1"
  expect 0 "$scratch/consumer/consumer" "$registration"
  [[ $out == "ok, 24 layers, "* ]] || fail "the consumer said: $out"
  echo "$out"
}

use_torch() {
  if [[ ! -e $1/include/kvedit/torch.hpp ]]; then
    step "built without libtorch: no component torch"
    return 0
  fi
  step "a program that takes views as tensors from $1"
  build_project "$source/tests/install/torch-consumer" "$scratch/torch-consumer" "$1" \
    "-DKVEDIT_TORCH_ROOT=${KVEDIT_TORCH_ROOT:-}"
  expect 0 "$scratch/torch-consumer/torch_consumer"
  [[ $out == ok ]] || fail "the consumer said: $out"
}

use_program() {
  step "the program of $1 finds library and standard rules"
  expect 0 env -i "$1/bin/kvedit" explain --json "$registration"
  [[ $out =~ \"ok\":\ *true ]] || fail "not ok: ${out:0:500}"
  expect 0 env -i "$1/bin/kvedit" rules
  [[ $out == *kvedit.mamba-page* ]] || fail "no standard rules: $out"
}

use_sdk() {
  step "a rule pack of somebody else, built with the SDK of $1"
  build_project "$source/examples/striped-pack" "$scratch/striped" "$1"
  rm -rf "$scratch/rules"
  mkdir -m 755 "$scratch/rules"
  find "$scratch/striped" -name '*.so' -exec cp {} "$scratch/rules" \;
  [[ -n $(ls "$scratch/rules") ]] || fail "the pack project made no .so"

  expect 0 env -i "$1/bin/kvedit" explain --json --rules-dir "$scratch/rules" "$striped"
  [[ $out =~ \"order\":\ *\"declared\" ]] ||
    fail "the order is not said to be declared: ${out:0:1000}"
  expect 1 env -i "$1/bin/kvedit" explain --json "$striped"
  [[ $out == *granularity-mismatch* ]] || fail "refused with another code: ${out:0:1000}"
}

use_prefix() {
  use_library "$1"
  use_torch "$1"
  use_program "$1"
  use_sdk "$1"
}

rm -rf "$scratch"
mkdir -p "$scratch"
step "installing $build"
"$cmake" --install "$build" --prefix "$scratch/first" >"$scratch/log" || { cat "$scratch/log"; fail install; }
use_prefix "$scratch/first"

mkdir -p "$scratch/another place"
mv "$scratch/first" "$scratch/another place/moved"
use_prefix "$scratch/another place/moved"
! grep -rlF "$source" "$scratch/another place/moved" --include='*.cmake' || fail "the package names the source tree"
step "all steps passed"
