#!/usr/bin/env bash
# scripts/python_env.sh [FOLDER]: a virtual environment with what the tests of the Python package
# need: pytest, mypy, numpy; about 100 MB. FOLDER is build/python-env when none is given. It sees the
# system's packages, so that a torch of the system is tested with. Called by test.sh.
#
#   PYTHON=…              the Python to make it of, python3 when not given; 3.11 or later
#   KVEDIT_PYTHON=OFF     leave the Python package out
#   KVEDIT_NO_INSTALL=1   install nothing
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/usage.sh
source "$root/scripts/usage.sh"
asked_for_usage "$@"
no_more_than 1 "$@"
folder=${1-$root/build/python-env}
check_folder "$folder"
python=${PYTHON:-python3}
wanted=$root/python/tests/requirements.txt

say() { printf 'kvedit: %s\n' "$*" >&2; }

if [[ ${KVEDIT_PYTHON:-ON} == OFF || ${KVEDIT_NO_INSTALL:-} == 1 ]] ||
   cmp -s "$wanted" "$folder/installed"; then
  exit 0
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  say "$("$python" --version) is older than 3.11: the Python package is left out"
  exit 0
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  "$root/scripts/setup.sh" no-such-command:python3-venv
fi
say "installing pytest, mypy and numpy into $folder (KVEDIT_PYTHON=OFF leaves the package out)"
begin_folder "$folder"
"$python" -m venv --system-site-packages "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check -r "$wanted"
cp "$wanted" "$folder/installed"
