# Writes a C++ source that holds the text of kernel headers. Runs at build time, so an edited kernel is embedded anew.
#   cmake -DOUTPUT=file.cpp "-DFILES=path=source;…" -P embed_kernels.cmake
set(rows "")
foreach(pair IN LISTS FILES)
  string(REGEX MATCH "^([^=]+)=(.*)$" _ "${pair}")
  file(READ "${CMAKE_MATCH_2}" text)
  string(APPEND rows "    {\"${CMAKE_MATCH_1}\", R\"kernel(${text})kernel\"},\n")
endforeach()
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
