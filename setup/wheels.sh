#!/bin/sh
# Makes .syclamp/sycl (the SYCL runtime and its compiler), .syclamp/tools (clang-format, clang-tidy) and .syclamp/report
# (matplotlib, Jinja2) from wheels whose versions and hashes are locked. A prefix is whole when the list of its files,
# written last, still matches what is there.
set -eu

# Every file with its size, less what Python writes while it runs; and the lock file that it was made from.
contents() { (cd "$1" && find . -type f ! -name '*.pyc' ! -name '.contents*' -printf '%s %p\n' | LC_ALL=C sort); cat "$2"; }

make_prefix() { # make_prefix FOLDER LOCK DESCRIPTION
  if [ -e "$1/.contents" ] && contents "$1" "$2" | cmp -s - "$1/.contents"; then return; fi
  [ ! -e "$1" ] || echo "setup: $1 is incomplete or out of date; making it anew"
  echo "setup: installing $3 into $1"
  rm -rf "$1"
  python3 -m venv "$1"
  "$1/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: -r "$2"
  contents "$1" "$2" > "$1/.contents.new"
  mv "$1/.contents.new" "$1/.contents"
}

mkdir -p .syclamp
make_prefix .syclamp/sycl setup/sycl.lock "the SYCL runtime (0.75 GB to download)"
make_prefix .syclamp/tools setup/tools.lock "clang-format and clang-tidy"
make_prefix .syclamp/report setup/report.lock "what draws the report of syclamp train"
