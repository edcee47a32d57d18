# Writes a C++ source that holds the text of kernel headers. Runs at build time, so an edited kernel is embedded again.
#   cmake -DOUTPUT=file.cpp -DROOT=<project> -P embed_kernels.cmake
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE pending RELATIVE "${ROOT}" "${ROOT}/sycl_kernels/*.hpp")
set(rows "")
set(embedded "")
while(pending)
  list(POP_FRONT pending file)
  list(APPEND embedded "${file}")
  file(READ "${ROOT}/${file}" text)
  string(REGEX REPLACE "^include/" "" name "${file}") # the path by which kernels include it
  string(APPEND rows "    {\"${name}\", R\"kernel(${text})kernel\"},\n")
  string(REGEX MATCHALL "#include <syclamp/[a-z0-9_/]+\\.hpp>" includes "${text}")
  foreach(line IN LISTS includes)
    string(REGEX REPLACE "#include <(.*)>" "include/\\1" header "${line}")
    if(NOT header IN_LIST embedded AND NOT header IN_LIST pending)
      list(APPEND pending "${header}")
    endif()
  endforeach()
endwhile()
file(WRITE "${OUTPUT}.new" "// Written by cmake/embed_kernels.cmake.
#include \"launch/jit/source.hpp\"

namespace syclamp::launch::jit {

std::span<const embedded_file> embedded_files() {
  static constexpr embedded_file files[] = {
${rows}  };
  return files;
}

}  // namespace syclamp::launch::jit
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
