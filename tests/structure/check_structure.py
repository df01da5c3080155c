#!/usr/bin/env python3
"""Checks what no compiler checks: who includes whom, what is listed in CMake, names and sizes.

Usage: check_structure.py ROOT. Prints one line a finding and exits 1 when there is an error.
The table of rooms is the one of docs/architecture.md; change both in one commit.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

# What a room of core/src may include beside base, model, <kvedit/...> and the standard library.
ROOMS = {
    "base": (),
    "model": (),
    "json": ("boost/json", "kvedit/rule_abi.h"),
    "packs": ("boost/dll", "boost/system", "openssl/", "kvedit/rule_abi.h", "dlfcn.h", "elf.h",
              "fcntl.h", "link.h", "pwd.h", "sys/", "unistd.h"),
    "abi": ("kvedit/rule_abi.h",),
    "validate": (),
    "match": (),
    "prove": (),
    "present": (),
    "audit": (),
    "readback": (),
    "fingerprint": ("openssl/",),
    "report": (),
}
ROOMS_OF_ALL = ("base", "model")
HOST = ("spdlog/",)
CLI = ("CLI/", "unistd.h", "sys/ioctl.h")
VERIFY = ("sys/mman.h", "sys/resource.h")
VERIFY_WRITERS = ("json/problem_writer.hpp", "json/text_writer.hpp")  # how its JSON looks, no more
VERIFY_HEADERS = ("verify/verify.hpp",)
TORCH = ("ATen/", "c10/")
TORCH_PLACES = ("core/torch/", "tests/torch/", "tests/bench/", "tests/install/torch-consumer/",
                "examples/round-trip/")
FORBIDDEN_HEADERS = ("torch/torch.h", "ATen/ATen.h", "torch/extension.h")
SDK_ONLY = ("kvedit/rule.hpp", "kvedit/rule_abi.h", "kvedit/rule/")
C_HEADERS = ("stdint.h", "stddef.h", "string.h")

FORBIDDEN_NAMES = {"util", "utils", "helper", "helpers", "common", "manager", "misc"}
FORBIDDEN_TEXT = (
    (re.compile(r"\b(TODO|FIXME|XXX)\b"), "a {} left behind"),
    (re.compile(r"(?<![\w.])(/work/|/root/)"), "names the machine path {}"),
)
LIMITS = {"header": (300, 400), "source": (500, 800)}  # lines: warn above, fail above
HEADERS = {".h", ".hpp"}
SOURCES = {".c", ".cpp", ".cc"}
BUILT = ("python/build/", "python/dist/")  # by pip, never in a clone
CODE_FOLDERS = ("core", "sdk", "plugins", "examples", "tests", "python")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")')


@dataclass
class Findings:
    errors: list = field(default_factory=list)
    warnings: list = field(default_factory=list)

    def error(self, place, text):
        self.errors.append(f"{place}: {text}")

    def warn(self, place, text):
        self.warnings.append(f"{place}: {text}")


@dataclass
class Include:
    line: int
    name: str
    quoted: bool

    @property
    def standard(self):
        return not self.quoted and "/" not in self.name and "." not in self.name


def includes_of(text):
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            yield Include(number, found.group(1) or found.group(2), found.group(2) is not None)


def starts_with_any(name, prefixes):
    return any(name == prefix or (prefix[-1] in "/_" and name.startswith(prefix)) or
               name.startswith(prefix + "/") or name.startswith(prefix + ".") for prefix in prefixes)


def refuse_in_room(room, include):
    """Why a file of core/src/<room> may not include this; nothing when it may."""
    if include.quoted:
        other = include.name.split("/")[0]
        if "/" not in include.name:
            return f'write "{room}/{include.name}"'
        allowed = {room} if room == "base" else {room, "base"} if room == "model" else {
            room, *ROOMS_OF_ALL}
        return None if other in allowed else f"room {room} may not include room {other}"
    if starts_with_any(include.name, ROOMS.get(room, ())):
        return None
    if include.name.startswith("kvedit/") and not starts_with_any(include.name, SDK_ONLY):
        return None
    return f"room {room} may not include <{include.name}>"


def refuse_outside_rooms(path, include):
    """The same for every other file: by the folder it lies in."""
    name = include.name
    sdk_header = starts_with_any(name, SDK_ONLY)
    public = name.startswith("kvedit/") and not include.quoted and not sdk_header
    if path.startswith("core/include/"):
        return None if public else f"a public header may include std and <kvedit/...> only, not {name}"
    if path.startswith("core/torch/"):
        allowed = public or include.quoted or starts_with_any(name, TORCH)
        return None if allowed else f"core/torch may not include {name}"
    if path.startswith("core/cli/"):
        allowed = (public or include.quoted and ("/" not in name or name in VERIFY_HEADERS) or
                   starts_with_any(name, CLI))
        return None if allowed else f"the program may include the public headers and CLI11, not {name}"
    if path.startswith("core/verify/"):
        allowed = (public or include.quoted and ("/" not in name or name in VERIFY_WRITERS) or
                   starts_with_any(name, VERIFY))
        return None if allowed else f"core/verify may include the public headers, not {name}"
    if path.startswith("core/src/"):
        room = name.split("/")[0]
        allowed = (public or include.quoted and (room in ROOMS or "/" not in name) or
                   starts_with_any(name, HOST))
        return None if allowed else f"the host may include rooms and spdlog, not {name}"
    if path.startswith("sdk/include/"):
        own = name.startswith("kvedit/") and sdk_header
        return None if own or name in C_HEADERS else f"the SDK may include std and itself, not {name}"
    if path.startswith("python/"):
        allowed = public or include.quoted and "/" not in name or name == "Python.h"
        return None if allowed else f"the Python module may include the public headers, not {name}"
    if path.startswith("plugins/"):
        own = include.quoted and "/" not in name or name == "kvedit/rule.hpp"
        return None if own else f"a standard rule may include <kvedit/rule.hpp> and std, not {name}"
    if path.startswith("examples/"):
        if include.quoted and name.split("/")[0] in ROOMS:
            return f"an example may not look inside the library ({name})"
    return None


def check_includes(path, text, findings):
    parts = path.split("/")
    in_room = path.startswith("core/src/") and len(parts) > 3
    for include in includes_of(text):
        place = f"{path}:{include.line}"
        if include.standard:
            continue
        if include.name.startswith("../") or "/../" in include.name:
            findings.error(place, f"include by name, not by way: {include.name}")
        elif include.name in FORBIDDEN_HEADERS:
            findings.error(place, f"<{include.name}> is never included: it costs seconds a file")
        elif re.match(r"(ATen|c10|torch|caffe2)/", include.name) and not path.startswith(TORCH_PLACES):
            findings.error(place, f"only core/torch includes libtorch, not {include.name}")
        else:
            why = (refuse_in_room(parts[2], include) if in_room
                   else refuse_outside_rooms(path, include))
            if why:
                findings.error(place, why)


def check_own_header_first(root, path, text, findings):
    own = path.removeprefix("core/src/").rsplit(".", 1)[0] + ".hpp"
    if not path.startswith("core/src/") or path.endswith(".hpp"):
        return
    if (root / "core/src" / own).exists():
        first = next(includes_of(text), None)
        if first is None or first.name != own:
            findings.error(path, f'its own header "{own}" comes first')


def check_text(path, text, findings):
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, what in FORBIDDEN_TEXT:
            found = pattern.search(line)
            if found:
                findings.error(f"{path}:{number}", what.format(found.group(1)))


def check_size(path, text, findings):
    kind = "header" if Path(path).suffix in HEADERS else "source"
    lines = text.count("\n")
    warn, fail = LIMITS[kind]
    if lines > fail:
        findings.error(path, f"{lines} lines; a {kind} has at most {fail}")
    elif lines > warn:
        findings.warn(path, f"{lines} lines; a {kind} should have at most {warn}")


def check_name(path, findings):
    for part in path.split("/"):
        words = set(re.split(r"[_\-.]", part.lower()))
        if words & FORBIDDEN_NAMES:
            findings.error(path, f"'{part}' says nothing about what is in it")


def check_guard(path, text, findings):
    if Path(path).suffix in HEADERS and not re.search(r"^#\s*(pragma once|ifndef \w+)", text, re.M):
        findings.error(path, "no #pragma once")


def words_of_cmake(folder, root, cache):
    """Words of all CMakeLists.txt from a folder up to the root, with the folder each is in."""
    while True:
        if folder not in cache:
            lists = folder / "CMakeLists.txt"
            text = lists.read_text() if lists.exists() else ""
            text = re.sub(r"#.*", "", text)
            cache[folder] = set(re.findall(r"[^\s()\"]+", text))
        yield folder, cache[folder]
        if folder == root:
            return
        folder = folder.parent


def made_from_a_list(relative, words):
    """Whether words name the file by parts: foreach(name a b) … ${name}.cpp or ${name}/${name}.cpp."""
    parts = {word.replace("_", "-") for word in words}
    for word in words:
        pattern = re.sub(r"\\\$\\\{\w+\\\}", "([^/]+)", re.escape(word))
        found = pattern != re.escape(word) and re.fullmatch(pattern, relative)
        if found and all(part.replace("_", "-") in parts for part in found.groups()):
            return True
    return False


def globbed(pattern, relative):
    """Whether file(GLOB … pattern) finds it: as deep as the pattern says, no deeper."""
    deep = pattern.count("/") + 1
    return "*" in pattern and deep == len(relative.parts) and relative.match(pattern)


def listed_in_cmake(file, root, cache):
    for folder, words in words_of_cmake(file.parent, root, cache):
        relative = file.relative_to(folder).as_posix()
        if relative in words or made_from_a_list(relative, words):
            return True
        if any(word.startswith("${") and word.endswith("}/" + relative) for word in words):
            return True  # ${CMAKE_CURRENT_SOURCE_DIR}/x.py
        if "GLOB" in words and any(globbed(word, file.relative_to(folder)) for word in words):
            return True
    return False


def check_listed(file, path, root, cache, findings):
    script = path.startswith("tests/") and file.suffix in {".py", ".sh", ".cmake"}
    if (file.suffix in SOURCES or script) and not listed_in_cmake(file, root, cache):
        findings.error(path, "in no CMakeLists.txt: it is never built or run")


def check_rooms(root, findings):
    source = root / "core/src"
    folders = {folder.name for folder in source.iterdir() if folder.is_dir()} if source.exists() else set()
    for name in sorted(folders - set(ROOMS)):
        findings.error(f"core/src/{name}", "a room that the table does not know")


def check(root):
    root = Path(root).resolve()
    findings = Findings()
    cache = {}
    files = 0
    check_rooms(root, findings)
    for top in CODE_FOLDERS:
        for file in sorted((root / top).rglob("*")):
            if not file.is_file() or "__pycache__" in file.parts:
                continue
            path = file.relative_to(root).as_posix()
            if path.startswith(BUILT):
                continue
            check_name(path, findings)
            check_listed(file, path, root, cache, findings)
            if file.suffix not in HEADERS | SOURCES:
                continue
            files += 1
            text = file.read_text()
            check_includes(path, text, findings)
            check_own_header_first(root, path, text, findings)
            check_text(path, text, findings)
            check_size(path, text, findings)
            check_guard(path, text, findings)
    return files, findings


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    files, findings = check(arguments[1])
    for line in findings.warnings:
        print(f"warning: {line}")
    for line in findings.errors:
        print(f"error: {line}")
    print(f"structure: {files} files, {len(findings.errors)} errors, {len(findings.warnings)} warnings")
    return 1 if findings.errors or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
