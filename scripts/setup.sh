#!/usr/bin/env bash
# scripts/setup.sh [COMMAND:PACKAGE …]: installs what kvedit is built with, as far as it is missing, and
# these packages when the command is; the command "libfuzzer" stands for what clang links fuzzers with.
# Called by build.sh, demo.sh, test.sh.
#
#   KVEDIT_NO_INSTALL=1   never install anything, go on with what is there
#   KVEDIT_TORCH_ROOT=…   this libtorch (or Python torch package, or virtual environment with one)
#                         instead of looking for one; /usr: Debian's, even if a Python has a torch
#   KVEDIT_TORCH=OFF      leave core/torch out: no libtorch is needed
#   KVEDIT_PYTHON=OFF     leave the Python package out: no Python headers are needed
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/usage.sh
source "$root/scripts/usage.sh"
asked_for_usage "$@"
for given in "$@"; do
  [[ $given == [!-:]*:?* ]] || refuse "'$given' where COMMAND:PACKAGE is wanted"
done

say() { printf 'kvedit: %s\n' "$*" >&2; }
have_command() { command -v "$1" >/dev/null 2>&1; }

# libFuzzer and the sanitizers' part of clang, which come in a package of their own.
have_libfuzzer() {
  local scratch status=0
  have_command clang++ || return 1
  scratch=$(mktemp)
  echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    clang++ -fsanitize=fuzzer,address,undefined -x c++ - -o "$scratch" >/dev/null 2>&1 || status=1
  rm -f "$scratch"
  return "$status"
}

# have_header 'lines of C++': they preprocess with the compiler that will be used.
have_header() {
  have_command "${CXX:-g++}" && printf '%s\n' "$1" | "${CXX:-g++}" -std=c++20 -E -x c++ - >/dev/null 2>&1
}

have_boost() {
  have_header '#include <boost/version.hpp>
#if BOOST_VERSION < 108100 || !__has_include(<boost/json.hpp>) || !__has_include(<boost/dll.hpp>)
#error
#endif'
}

have_library() {
  local found
  have_command "${CXX:-g++}" && found=$("${CXX:-g++}" -print-file-name="$1") && [[ $found == /* ]]
}

python_torch() {  # folder of the torch package of a python, without importing it
  "$1" - 2>/dev/null <<'PYTHON'
import importlib.util
import os
spec = importlib.util.find_spec("torch")
folder = list(spec.submodule_search_locations)[0]
raise SystemExit(0 if os.path.exists(folder + "/include/ATen/core/TensorBase.h") else 1)
PYTHON
}

have_python_headers() {
  [[ ${KVEDIT_PYTHON:-ON} != OFF ]] || return 0
  have_command python3 && python3 -c 'import os, sysconfig
raise SystemExit(not os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"))'
}

have_libtorch() {
  local python
  [[ ${KVEDIT_TORCH:-ON} != OFF ]] || return 0
  case ${KVEDIT_TORCH_ROOT:-} in
    "") ;;
    /usr) [[ -e /usr/include/ATen/core/TensorBase.h ]]; return ;;
    *) return 0 ;;
  esac
  for python in "${VIRTUAL_ENV:-/nowhere}/bin/python3" "${CONDA_PREFIX:-/nowhere}/bin/python3" python3; do
    have_command "$python" && python_torch "$python" && return 0
  done
  have_header '#if !__has_include(<ATen/core/TensorBase.h>)
#error
#endif'
}

missing_packages() {
  have_command "${CXX:-g++}" || echo g++
  have_command cmake || echo cmake
  have_command ninja || echo ninja-build
  have_command python3 || echo python3
  have_python_headers || echo python3-dev
  have_boost || echo libboost1.81-dev
  have_library libboost_json.so || echo libboost-json1.81-dev
  have_header '#include <spdlog/version.h>' || echo libspdlog-dev
  have_header '#include <catch2/catch.hpp>' || echo catch2
  have_header '#include <CLI/Version.hpp>' || echo libcli11-dev
  have_header '#include <openssl/opensslv.h>' || echo libssl-dev
  have_libtorch || echo libtorch-dev
}

installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null || true) == installed ]]; }

explain_conflict() {
  local package
  for package in $(dpkg-query -W -f='${Package}\n' 'libboost1.[0-9]*-dev' 2>/dev/null | sort -u); do
    if [[ $package != libboost1.81-dev ]] && installed "$package"; then
      say "$package is installed and Debian's libboost1.81-dev conflicts with it. kvedit needs Boost 1.81"
      say "(Boost.JSON). Nothing was removed. Either remove it yourself: apt-get remove $package"
      say "or point CMAKE_PREFIX_PATH and CPATH at a Boost 1.81 or newer and set KVEDIT_NO_INSTALL=1."
      return 1
    fi
  done
}

install_packages() {
  local as_root=()
  if ! have_command apt-get; then
    say "missing: $* (named as in Debian 12). There is no apt-get here: install them and come again."
    return 1
  fi
  if [[ $(id -u) != 0 ]]; then
    if ! have_command sudo; then
      say "missing: $*. Neither root nor sudo here: apt-get install --no-install-recommends $*"
      return 1
    fi
    as_root=(sudo)
  fi
  if [[ " $* " == *" libboost1.81-dev "* ]]; then
    explain_conflict
  fi
  say "installing with apt-get what is missing: $*"
  if [[ " $* " == *" libtorch-dev "* ]]; then
    say "libtorch-dev is 125 MB to fetch, 512 MB on disk; KVEDIT_TORCH=OFF builds without it,"
    say "KVEDIT_TORCH_ROOT or an active Python environment with torch is used instead of it."
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends --no-remove "$@" >/dev/null
}

main() {
  local packages extra
  [[ ${KVEDIT_NO_INSTALL:-} == 1 ]] && return 0
  mapfile -t packages < <(missing_packages)
  for extra in "$@"; do
    if [[ ${extra%%:*} == libfuzzer ]]; then
      have_libfuzzer || packages+=("${extra#*:}")
    else
      have_command "${extra%%:*}" || packages+=("${extra#*:}")
    fi
  done
  if ((${#packages[@]})); then
    install_packages "${packages[@]}"
    say "installed: ${packages[*]}"
  fi
}

main "$@"
