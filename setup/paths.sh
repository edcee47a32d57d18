#!/bin/sh
# Refuses a path that a later tool would cut in two, before anything is downloaded.   paths.sh PROJECT SYCL_ROOT
# cmake/paths.cmake says the same to those who call cmake themselves.
set -eu

refuse() { # refuse WHAT PATH CHARACTER REASON
  echo "setup: the path of $1, \"$2\", has a $3 in it: $4. Move the project to a path without a $3, or set" \
    "SYCLAMP_SYCL_ROOT if only the SYCL runtime's path has one." >&2
  exit 1
}
check() { # check WHAT PATH
  case $2 in
    *\;*) refuse "$1" "$2" semicolon "CMake separates lists by it" ;;
    *:*) refuse "$1" "$2" colon "the system's lists of library folders are separated by it" ;;
  esac
}
check "the project" "$1"
check "the SYCL runtime" "$2"
# Intel's CPU driver reads its own path from /proc, up to the first space; symbolic links do not help.
real=$(readlink -f "$2" || echo "$2")
case $real in
  *[[:space:]]*) refuse "the SYCL runtime" "$real" space "Intel's CPU driver does not find its files there" ;;
esac
