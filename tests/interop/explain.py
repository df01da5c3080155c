"""Runs `kvedit explain` on a registration."""

import json
import subprocess


def report_of(program, registration, *options):
    done = subprocess.run([program, "explain", "-", "--json", *options], text=True,
                          input=json.dumps(registration), capture_output=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)
