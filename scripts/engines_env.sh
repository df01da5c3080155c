#!/usr/bin/env bash
# scripts/engines_env.sh [FOLDER]: an environment in which the released vLLM 0.32.0 (CPU build) and
# LMCache 0.5.6 run without a GPU, with kvedit of this clone installed: 1 GB to fetch, 2.5 GB on disk.
# FOLDER is build/engines-env when none is given. A second run installs only what changed: kvedit, when
# its sources did. Called by test.sh --engines.
#
#   PYTHON=…              the Python to make it of, python3 when not given; 3.11 or later
#   KVEDIT_NO_INSTALL=1   install nothing
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/usage.sh
source "$root/scripts/usage.sh"
asked_for_usage "$@"
no_more_than 1 "$@"
folder=${1-$root/build/engines-env}
check_folder "$folder"
engines=$root/tests/engines
uv_version=0.13.9

say() { printf 'kvedit: %s\n' "$*" >&2; }

digest() { sha256sum "$@" | sha256sum | cut -d ' ' -f 1; }

sources_digest() {
  local files
  mapfile -t -d '' files < <(cd "$root" && find CMakeLists.txt cmake core sdk plugins \
    python/{CMakeLists.txt,LICENSE,README.md,pyproject.toml,backend,binding,src} -type f \
    -not -name '*.pyc' -print0 | sort -z)
  (cd "$root" && digest "${files[@]}")
}

# What holds for both is written down last, so that a broken set-up is begun again.
is_done() { [[ -e $folder/$1 && $(<"$folder/$1") == "$2" ]]; }

install_engines() {
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    "$root/scripts/setup.sh" no-such-command:python3-venv
  fi
  say "installing vLLM 0.32.0 and LMCache 0.5.6 into $folder: a minute, 2.5 GB"
  begin_folder "$folder"
  "$python" -m venv "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "uv==$uv_version"
  "$folder/bin/uv" pip install --quiet --python "$folder/bin/python" --no-deps \
    -r "$engines/requirements.txt"
  "$folder/bin/python" -B "$engines/cuda_stand_ins.py" \
    "$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["platlib"])')/torch/lib" >&2
  echo "$1" >"$folder/engines-installed"
}

install_kvedit() {
  say "installing kvedit into $folder"
  if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER-ccache}
    export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
  fi
  (cd "$root" && "$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps \
    --force-reinstall ./python)
  echo "$1" >"$folder/kvedit-installed"
}

if [[ ${KVEDIT_NO_INSTALL:-} == 1 ]]; then
  exit 0
fi
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  say "$("$python" --version) is older than 3.11"
  exit 1
fi
KVEDIT_TORCH=OFF "$root/scripts/setup.sh" gcc:gcc readelf:binutils
wanted=$(digest "$engines/requirements.txt" "$engines/cuda_stand_ins.py" "$root/scripts/engines_env.sh")
is_done engines-installed "$wanted" || install_engines "$wanted"
wanted=$(sources_digest)
is_done kvedit-installed "$wanted" || install_kvedit "$wanted"
