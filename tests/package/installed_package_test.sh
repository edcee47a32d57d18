#!/bin/sh
# Somebody who has installed syclamp, moved the folder and removed what it was made from: builds and runs every example
# with find_package, and one with pkg-config and the plain compiler, in an empty environment.
#   installed_package_test.sh SOURCE BUILD SYCL_ROOT VERSION KERNELS CMAKE CTEST GENERATOR CXX CXX_FLAGS
set -eu
source=$1 build=$2 sycl=$3 version=$4 kernels=$5 cmake=$6 ctest=$7 generator=$8 cxx=$9
cxx_flags=${10}
tests=$source/tests/package
fail() { echo "installed_package_test: $*" >&2; exit 1; }

# configure BUILD_FOLDER PREFIX
configure() {
  "$cmake" -S examples -B "$1" -G "$generator" "-DCMAKE_CXX_COMPILER=$cxx" "-DCMAKE_CXX_FLAGS=$cxx_flags" \
    "-DCMAKE_PREFIX_PATH=$2" > configured || { cat configured; exit 1; }
  grep -q "Examples of syclamp $version\$" configured || { cat configured; fail "the examples did not find syclamp $version"; }
}

# Needs only the folder that it is called in: moved/ (the package), examples/, consumer/, quick_start/,
# c_quick_start/, fortran_quick_start/ and cache/.
use_package() {
  "$cmake" -S consumer -B consumer-build "-DVERSION=$version" "-DCMAKE_PREFIX_PATH=$PWD/moved"
  configure "build examples" "$PWD/moved"
  "$cmake" --build "build examples"
  "$ctest" --test-dir "build examples" --output-on-failure --no-tests=error
  if [ -e moved/bin/syclamp ]; then moved/bin/syclamp --version; moved/bin/syclamp info; moved/bin/syclamp verify --quick; fi
  [ "$kernels" = jit ] || return 0
  cp examples/step.cpp quick_start/step.cpp
  "$cmake" -S quick_start -B quick_start-build -G "$generator" "-DCMAKE_CXX_COMPILER=$cxx" "-DCMAKE_CXX_FLAGS=$cxx_flags" \
    "-DCMAKE_PREFIX_PATH=$PWD/moved"
  "$cmake" --build quick_start-build
  quick_start-build/step
  loads_package "build examples/inspect_example"
  cp examples/c/first_step.c c_quick_start/first_step.c
  "$cmake" -S c_quick_start -B c_quick_start-build -G "$generator" "-DCMAKE_PREFIX_PATH=$PWD/moved"
  "$cmake" --build c_quick_start-build
  c_quick_start-build/first_step
  has_fortran=$(find moved -name syclamp-fortran.pc)
  if [ -n "$has_fortran" ]; then
    cp examples/fortran/first_step.f90 fortran_quick_start/first_step.f90
    "$cmake" -S fortran_quick_start -B fortran_quick_start-build -G "$generator" "-DCMAKE_PREFIX_PATH=$PWD/moved"
    "$cmake" --build fortran_quick_start-build
    fortran_quick_start-build/first_step
  fi
  if command -v pkg-config > /dev/null; then
    PKG_CONFIG_PATH=$(dirname "$(find "$PWD/moved" -name syclamp-nn.pc)")
    export PKG_CONFIG_PATH
    [ "$(pkg-config --modversion syclamp)" = "$version" ] || fail "pkg-config does not find syclamp $version"
    # shellcheck disable=SC2046,SC2086 # flags are words
    "$cxx" -std=c++20 $cxx_flags examples/inspect.cpp $(pkg-config --cflags --libs syclamp-nn) -o by-pkg-config
    loads_package by-pkg-config
    SYCLAMP_CACHE=off ./by-pkg-config # the package has the run-time compiler, too
    # shellcheck disable=SC2046 # flags are words
    cc -std=c99 -pedantic -Wall -Wextra -Werror examples/c/train_field.c $(pkg-config --cflags --libs syclamp-c) -lm -o c-by-pkg-config
    loads_package c-by-pkg-config
    ./c-by-pkg-config
    if [ -n "$has_fortran" ] && command -v gfortran > /dev/null; then
      # shellcheck disable=SC2046
      gfortran examples/fortran/surrogate.f90 $(pkg-config --cflags --libs syclamp-fortran) -o fortran-by-pkg-config
      loads_package fortran-by-pkg-config
      ./fortran-by-pkg-config
    fi
  fi
}

# Also where the source tree could not be hidden, its libraries are not the ones that are loaded.
loads_package() {
  for library in libsycl.so libsyclamp.so; do
    ldd "$1" | grep -F "$library" | grep -qF "$PWD/moved/" || { ldd "$1"; fail "$1 loads another $library"; }
  done
}

if [ "${11-}" = --inside ]; then use_package; exit; fi

work=$build/package-test # without a space in it: Intel's CPU driver does not find its files otherwise
rm -rf "$work"
mkdir "$work"
trap 'rm -rf "$work"' EXIT
cd "$work"
cp -R "$source/examples" "$tests/consumer" "$tests/quick_start" "$tests/c_quick_start" "$tests/fortran_quick_start" "$tests/installed_package_test.sh" .
mkdir cache
if [ -d "$SYCLAMP_CACHE_DIR" ]; then cp -R "$SYCLAMP_CACHE_DIR/." cache; fi

# A plain installation uses the SYCL that it was built with, and its path may have a space in it.
"$cmake" --install "$build" --prefix "$work/with space/prefix" > /dev/null
configure "with space/build" "$work/with space/prefix"
"$cmake" --build "with space/build" --target inspect_example
"with space/build/inspect_example"

"$cmake" --install "$build" --prefix "$work/prefix" > /dev/null
if [ "$kernels" = jit ]; then "$cmake" --install "$build" --prefix "$work/prefix" --component runtime > /dev/null; fi
mv prefix moved
set -- "PATH=$PATH" sh -c 'SYCLAMP_CACHE_DIR=$PWD/cache exec sh installed_package_test.sh "$@"' sh "$@" --inside
if [ "$kernels" != jit ]; then # the SYCL is a compiler then, and no part of the package
  set -- "HOME=$HOME" "$@"
  sycl=$source
fi
status=0
sh "$tests/without_folders.sh" "$work" "$(realpath "$sycl")" "$build" "$source" -- env -i "$@" || status=$?
if [ $status = 77 ]; then
  echo "installed_package_test: this system has no user namespaces, so the source tree is not hidden"
  status=0
  env -i "$@" || status=$?
fi
exit $status
