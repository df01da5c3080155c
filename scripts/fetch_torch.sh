#!/usr/bin/env bash
# scripts/fetch_torch.sh [FOLDER]: PyPI's torch 2.13 in a virtual environment, as a libtorch to build
# against: about 1.1 GB. FOLDER is build/torch213 when none is given; give it as KVEDIT_TORCH_ROOT.
# It cannot be imported: of its CUDA libraries only those come along that libtorch_cpu.so loads.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/torch213}

if compgen -G "$folder/lib/python3*/site-packages/torch/lib/libtorch_cpu.so" >/dev/null &&
   [[ -e $folder/complete ]]; then
  exit 0
fi
if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
  "$root/scripts/setup.sh" no-such-command:python3-venv
fi
echo "kvedit: installing PyPI's torch 2.13.0 into $folder" >&2
rm -rf "$folder"
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir --no-deps \
  torch==2.13.0 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-cupti==13.0.*'
touch "$folder/complete"
