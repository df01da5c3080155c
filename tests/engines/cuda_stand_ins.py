"""Builds stand-ins for the NVIDIA libraries that PyPI's torch is linked against, so that it can be
imported on a machine without them: 15 small libraries in place of 2.7 GB that a CPU never calls.

    python cuda_stand_ins.py SITE_PACKAGES/torch/lib

For test environments only. Every function returns 100 ("no device"), an error in each of these
interfaces, so that torch finds no GPU. torch looks for its libraries beside its own. Needs gcc and
binutils.
"""

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

# What `import torch` loads; libcuda belongs to the driver and is only ever asked for by name.
LOADED = ("libtorch*.so", "libc10*.so", "libshm.so")
NVIDIA = re.compile(r"lib(cu|nv|nccl)")
FUNCTION = re.compile(r"(p?nccl|cu|nv)[A-Za-z]")
DRIVER = "libcuda.so.1"


def output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(library: Path) -> set[str]:
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", library)))


def versions(library: Path) -> dict[str, str]:
    """Version of a symbol → library that must define it."""
    found, file = {}, ""
    for line in output("readelf", "-VW", library).splitlines():
        if line.startswith("Version definition"):
            file = ""
        elif match := re.search(r"File: (\S+)", line):
            file = match[1]
        elif (match := re.search(r"Name: (\S+)", line)) and file:
            found[match[1]] = file
    return found


def symbols(library: Path, kind: str) -> list[tuple[str, str]]:
    """(name, version or nothing)"""
    found = []
    for line in output("nm", "-D", kind, library).splitlines():
        name, _, version = line.split()[-1].partition("@")
        found.append((name, version.lstrip("@")))
    return found


def build(folder: Path, name: str, by_version: dict[str, set[str]]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        source, script = Path(scratch, "stand_in.c"), Path(scratch, "versions")
        every = sorted(set().union(*by_version.values()) if by_version else ())
        source.write_text("".join(f"int {each}(void) {{ return 100; }}\n" for each in every))
        versioned = {version: names for version, names in by_version.items() if version}
        script.write_text(
            "".join(
                f"{version} {{ global: {' '.join(f'{each};' for each in sorted(names))} }};\n"
                for version, names in versioned.items()
            )
        )
        flags = [f"-Wl,--version-script={script}"] if versioned else []
        subprocess.run(
            ["gcc", "-w", "-O1", "-fno-builtin", "-shared", "-fPIC", source, "-o", folder / name]
            + [f"-Wl,-soname,{name}", *flags],
            check=True,
        )


def main(folder: Path) -> None:
    libraries = [path for path in folder.glob("lib*.so") if not path.is_symlink()]
    loaded = [path for pattern in LOADED for path in folder.glob(pattern)]
    wanted = {name for path in loaded for name in needed(path) if NVIDIA.match(name)} - {DRIVER}
    missing = sorted(wanted)

    owner: dict[str, str] = {}
    for path in libraries:
        owner.update(versions(path))
    defined = {name for path in libraries for name, _ in symbols(path, "--defined-only")}
    stand_ins: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    extension = [*folder.parent.glob("_C*.so")]
    for path in [*loaded, *extension]:
        for name, version in symbols(path, "--undefined-only"):
            if version and owner.get(version) in wanted:
                stand_ins[owner[version]][version].add(name)
            elif not version and FUNCTION.match(name) and name not in defined:
                # Any library may define what has no version: the first one without versions does.
                stand_ins[""][""].add(name)
    unversioned = stand_ins.pop("", {"": set()})[""]
    free = next(name for name in missing if not stand_ins.get(name))
    stand_ins[free][""] |= unversioned
    for name in missing:
        build(folder, name, stand_ins[name])
    print(f"{len(missing)} stand-ins in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
