# shellcheck shell=bash
# Sourced by the scripts, first of all: nothing is set up for words that they do not know. Wants $root.
# What is told of a script is the comment that it begins with.

# asked_for_usage ARGUMENT …: tells it and ends when one of them is --help or -h.
asked_for_usage() {
  local each
  for each in "$@"; do
    if [[ $each == --help || $each == -h ]]; then
      sed -n '2,${/^#/!q; s/^# \{0,1\}//; p}' "$0"
      exit 0
    fi
  done
}

# refuse MESSAGE: what cannot be, and what can.
refuse() {
  local script
  script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
  printf '%s: %s; --help tells more\n' "${script#"$root/"}" "$1" >&2
  exit 2
}

# no_more_than COUNT ARGUMENT …
no_more_than() {
  local count=$1
  shift
  (($# <= count)) || refuse "'${*:count+1:1}' is one word too many"
}

# Those of the project that can be built.
presets() { sed -n '/"buildPresets"/,/]/s/.*"name": *"\([^"]*\)".*/\1/p' "$root/CMakePresets.json"; }

# check_preset WORD [WHAT ELSE IT COULD BE]
check_preset() {
  local known
  known=$(presets)
  grep -qxF -e "$1" <<<"$known" && return  # no pipe: grep ends at the first and would break it
  [[ -e $root/CMakeUserPresets.json && $1 == [[:alnum:]]* ]] && return  # CMake knows better
  known=$(paste -sd , <<<"$known" | sed 's/,/, /g')
  refuse "'$1' is no preset${2:+ and not $2}; there are $known"
}

# check_folder WORD: it is begun anew, so that what is in it must be of an earlier run.
check_folder() {
  [[ -n $1 && $1 != -* ]] || refuse "'$1' where a folder is wanted"
  [[ ! -e $1 || -e $1/.kvedit || $(realpath -m "$1") == "$root"/build/* || -d $1 && -z $(ls -A "$1") ]] ||
    refuse "'$1' is not empty and not of this script; give another folder"
}

# begin_folder FOLDER: empty but for the mark by which a later run knows it.
begin_folder() {
  rm -rf "$1"
  mkdir -p "$1"
  touch "$1/.kvedit"
}
