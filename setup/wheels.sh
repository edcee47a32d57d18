#!/bin/sh
# Makes the prefixes that are named, or all, from wheels whose versions and hashes are locked:   wheels.sh [PREFIX…]
#   sycl     the SYCL runtime and its compiler
#   tools    clang-format
#   tidy     clang-tidy
#   report   matplotlib and Jinja2, for the report of `syclamp train`
#   site     mkdocs, for `./run docs`
#   torch    PyTorch and its companions, for the tests of syclamp.torch
#   python   what builds and tests the Python package
#   data     the samples of `syclamp train`; needs report
# Each is a folder in .syclamp. It is complete when the list of its files, written last, still matches what is there.
set -eu

# Every file with its size, less what Python writes while it runs; and the lock file that it was made from.
contents() { (cd "$1" && find . -type f ! -name '*.pyc' ! -name '.contents*' -printf '%s %p\n' | LC_ALL=C sort); cat "$2"; }

locked="--disable-pip-version-check --no-deps --require-hashes --only-binary :all:"
[ -t 1 ] || locked="--quiet $locked" # on a terminal pip shows how far each download is

install_wheels() { # install_wheels FOLDER LOCK
  python3 -m venv "$1"
  # shellcheck disable=SC2086
  "$1/bin/python" -m pip install $locked -r "$2"
}

# The digits are the same in the wheels of all platforms: that of one is locked, and only this file is taken from it.
# Downloaded by the Python of .syclamp/report, because the system's may have no pip.
take_digits() { # take_digits FOLDER LOCK
  mkdir -p "$1/wheels"
  # shellcheck disable=SC2086
  .syclamp/report/bin/python -m pip download $locked --python-version 3.11 --platform manylinux_2_28_x86_64 -d "$1/wheels" -r "$2"
  .syclamp/report/bin/python setup/digits.py "$1/wheels" "$1/digits.csv"
  rm -r "$1/wheels"
}

make_prefix() { # make_prefix FOLDER LOCK DESCRIPTION [HOW]
  if [ -e "$1/.contents" ] && contents "$1" "$2" | cmp -s - "$1/.contents"; then return; fi
  [ ! -e "$1" ] || echo "setup: $1 is incomplete or out of date; installing it again"
  echo "setup: installing $3 into $1"
  rm -rf "$1"
  "${4-install_wheels}" "$1" "$2"
  contents "$1" "$2" > "$1/.contents.new"
  mv "$1/.contents.new" "$1/.contents"
}

mkdir -p .syclamp
[ $# -gt 0 ] || set -- sycl tools tidy report site python torch data
for prefix in "$@"; do
  case $prefix in
    sycl) make_prefix .syclamp/sycl setup/sycl.lock "the SYCL runtime (0.75 GB to download)" ;;
    tools) make_prefix .syclamp/tools setup/tools.lock "clang-format" ;;
    tidy) make_prefix .syclamp/tidy setup/tidy.lock "clang-tidy" ;;
    report) make_prefix .syclamp/report setup/report.lock "what draws the report of syclamp train" ;;
    site) make_prefix .syclamp/site setup/site.lock "what builds the site (18 MB to download)" ;;
    torch) make_prefix .syclamp/torch setup/torch.lock "PyTorch and its companions (2.6 GB to download)" ;;
    python) make_prefix .syclamp/python setup/python.lock "what builds and tests the Python package (0.15 GB to download)" ;;
    data) make_prefix .syclamp/data setup/data.lock "the handwritten digits of scikit-learn" take_digits ;;
    *) echo "setup: there is no prefix \"$prefix\"; sycl, python, tools, tidy, report, site, torch and data exist" >&2; exit 2 ;;
  esac
done
