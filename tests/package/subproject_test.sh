#!/bin/sh
# syclamp as a part of another project.   subproject_test.sh SOURCE WORK SYCL_ROOT CMAKE GENERATOR CXX CXX_FLAGS
# Configures it both ways and compiles an example. Set SYCLAMP_TEST_SUBPROJECT to build the library, too, and run the example:
# that takes two minutes of CPU time, because the library is compiled again.
set -eu
source=$1 work=$2 sycl=$3 cmake=$4 generator=$5 cxx=$6 cxx_flags=$7
rm -rf "$work"
mkdir "$work"
trap 'rm -rf "$work"' EXIT
for way in add_subdirectory FetchContent; do
  "$cmake" -S "$source/tests/package/subproject" -B "$work/$way" -G "$generator" "-DCMAKE_CXX_COMPILER=$cxx" \
    "-DCMAKE_CXX_FLAGS=$cxx_flags" "-DSYCLAMP_SOURCE=$source" "-DSYCLAMP_SYCL_ROOT=$sycl" "-DWAY=$way"
done
"$cmake" --build "$work/FetchContent" --target program_object
if [ -n "${SYCLAMP_TEST_SUBPROJECT-}" ]; then
  "$cmake" --build "$work/FetchContent" --target program
  "$work/FetchContent/program"
fi
