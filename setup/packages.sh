#!/bin/sh
# Finds the compiler, CMake, Python and the C++ packages; installs with apt what is missing, or says how to.
#   packages.sh [--tests] [--python]   with --tests also Catch2, and where apt can install them gfortran and valgrind;
#                                      with --python also the header of Python, for the Python package
set -eu

tests=no python=no action=install
while [ $# -gt 0 ]; do
  case $1 in
    --tests) tests=yes ;;
    --python) python=yes ;;
    --list | --backports-sources) action=$1; shift; break ;; # for the test of this script
    *) echo "setup: packages.sh has no option \"$1\"" >&2; exit 2 ;;
  esac
  shift
done

has() { command -v "$1" >/dev/null 2>&1; }
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; } # at_least VERSION WANTED

# The compiler that CMake will take: $CXX or c++.
cxx=${CXX:-c++}
cxx=${cxx##* } # behind a launcher like ccache
compiler_is_new() {
  has "$cxx" || return 1
  case $("$cxx" --version | head -n 1) in
    *clang*) at_least "$("$cxx" -dumpversion)" 16 ;;
    *) at_least "$("$cxx" -dumpversion)" 12 ;;
  esac
}
has_header() { has "$cxx" && echo "#include <$1>" | "$cxx" -std=c++20 -E -x c++ -I.syclamp/catch2/usr/include - >/dev/null 2>&1; }
python_is_new() { has python3 && python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
has_python_header() { has python3 && [ -e "$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])')/Python.h" ]; }
cmake_is_new() { has cmake && at_least "$(cmake --version | sed -n '1s/[^0-9]*//p')" 3.25; }

missing() {
  compiler_is_new || echo g++
  cmake_is_new || echo cmake
  has ninja || echo ninja-build
  python_is_new || echo python3 python3-venv
  [ $python = no ] || has_python_header || echo python3-dev
  has_header CLI/CLI.hpp || echo libcli11-dev
  has_header nlohmann/json.hpp || echo nlohmann-json3-dev
  has_header fmt/format.h || echo libfmt-dev
  case $("$cxx" --version 2>/dev/null) in *clang*) has_header omp.h || echo libomp-dev ;; esac
}

# Catch2 3 is a package of its own on new systems; Debian 12 has it in its backports. From there it is only unpacked
# beside the project, with an apt configuration of our own: the system's sources and packages stay as they are.
candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: //p' | grep -v none || true; }
catch2_package() {
  if [ -n "$(candidate libcatch2-dev)" ]; then echo libcatch2-dev
  elif at_least "$(candidate catch2)" 3; then echo catch2
  fi
}
sources=${SYCLAMP_APT_SOURCES-/etc/apt/sources} # elsewhere in the test of this script
backports_sources() { # the system's own sources, for the backports of its release
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  for file in "$sources.list" "$sources.list.d"/*.list; do
    [ ! -e "$file" ] || sed -nE "s/^(deb( +\[[^]]*\])? +[^ ]+ +)$codename( .*)/\1$codename-backports\3/p" "$file"
  done > "$1.list"
  for file in "$sources.list.d"/*.sources; do # stanzas that name the release itself
    [ ! -e "$file" ] || awk -v RS= -v release="$codename" '
      match($0, "(^|\n)Suites:[^\n]*[ \t]" release "([ \t\n]|$)") {
        sub(/Suites:[^\n]*/, "Suites: " release "-backports"); print $0 "\n" }' "$file"
  done > "$1.sources"
}
unpack_catch2() {
  mkdir -p .syclamp/apt/lists/partial .syclamp/apt/cache/archives/partial .syclamp/apt/parts
  apt=$PWD/.syclamp/apt
  backports_sources "$apt/parts/backports"
  private() {
    apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt/parts" -o Dir::State::Lists="$apt/lists" \
      -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root "$@"
  }
  echo "setup: unpacking Catch2 3 from the backports into .syclamp/catch2"
  rm -rf "$apt"/*.deb .syclamp/catch2 .syclamp/catch2.new
  private update || true # sources of third parties have no backports; what counts is whether the package comes
  if ! (cd "$apt" && private download libcatch2-dev); then
    echo "setup: Catch2 3.3 or later is needed for the tests, and apt could not download libcatch2-dev from the backports" \
      "of this release (see above). Install Catch2 3, or build without tests: cmake --preset jit -DSYCLAMP_TESTS=OFF" >&2
    exit 1
  fi
  dpkg -x "$apt"/libcatch2-dev_*.deb .syclamp/catch2.new
  mv .syclamp/catch2.new .syclamp/catch2
}

case $action in
  --backports-sources) backports_sources "$1"; exit ;;
  --list) missing; exit ;;
esac

# Tests of the Fortran interface and of leaks are left out without these. So they are no reason to stop.
optional() {
  has gfortran || echo gfortran
  has valgrind || echo valgrind
}

wanted=$(missing | tr '\n' ' ')
needs_catch2=no
extra=
if [ $tests = yes ] && has apt-get; then extra=$(optional | tr '\n' ' '); fi
if [ $tests = yes ]; then has_header catch2/catch_test_macros.hpp || needs_catch2=yes; fi
if [ -z "$wanted$extra" ] && [ $needs_catch2 = no ]; then exit 0; fi

if ! has apt-get; then
  echo "setup: please install: $wanted$([ $needs_catch2 = no ] || echo 'Catch2 3')" >&2; exit 1
fi
as_root=
[ "$(id -u)" = 0 ] || as_root="sudo -n"
if [ -z "$as_root" ] || $as_root true 2>/dev/null; then
  $as_root apt-get -qq update || true
  can_install=yes
else
  can_install=no
fi
[ $needs_catch2 = no ] || wanted="$wanted$(catch2_package)"
if [ -n "${wanted% }" ]; then
  if [ $can_install = no ]; then
    echo "setup: packages are missing; type:  sudo apt-get update; sudo apt-get install $wanted" >&2; exit 1
  fi
  echo "setup: installing $wanted"
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $wanted >/dev/null
fi
if [ -n "$extra" ] && [ $can_install = yes ]; then
  echo "setup: installing $extra"
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $extra >/dev/null ||
    echo "setup: $extra could not be installed; the tests that need them are left out" >&2
fi
if [ $needs_catch2 = yes ]; then has_header catch2/catch_test_macros.hpp || unpack_catch2; fi
still=$(missing | tr '\n' ' ')
if [ -n "$still" ]; then
  echo "setup: still missing or too old: $still(g++ 12 or clang 16, CMake 3.25, Python 3.11 with venv are needed)" >&2; exit 1
fi
