# Precompiled headers. Nearly every source includes <sycl/sycl.hpp>, which takes seconds to parse.
# Only for a plain g++ or clang++: a SYCL compiler parses a source once per device.
# Off with a launcher such as ccache, which by default caches nothing that uses a precompiled header. To have both, configure
# with -DSYCLAMP_PRECOMPILE=ON -DCMAKE_CXX_FLAGS=-fpch-preprocess and set CCACHE_SLOPPINESS=pch_defines,time_macros.
if(SYCLAMP_KERNELS STREQUAL "jit" AND CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$" AND NOT CMAKE_CXX_COMPILER_LAUNCHER
    AND NOT CMAKE_POSITION_INDEPENDENT_CODE) # with it, libraries and programs could not share a precompiled header
  set(default ON)
else()
  set(default OFF)
endif()
option(SYCLAMP_PRECOMPILE "Precompile the headers of SYCL, fmt and Catch2" ${default})

# Large headers that few sources include, such as CLI11's, are left out: each use of a precompiled header costs time, too.

# syclamp_precompile(NAME [POSITION_INDEPENDENT] HEADERS… LINK LIBRARIES…)
# From here on syclamp_target shares these precompiled headers among the targets of this folder and the folders below.
macro(syclamp_precompile name)
  if(SYCLAMP_PRECOMPILE)
    syclamp_add_precompiled(${name} ${ARGN})
    set(SYCLAMP_PRECOMPILED ${name})
  endif()
endmacro()

function(syclamp_add_precompiled name)
  cmake_parse_arguments(PARSE_ARGV 1 arg POSITION_INDEPENDENT "" "HEADERS;LINK")
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp") # CMake precompiles headers only for a target that has a source
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Empty: this target exists for its precompiled header.\n")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${source}")
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ${arg_POSITION_INDEPENDENT})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  set(SYCLAMP_PRECOMPILED "") # this target shares with none
  syclamp_target(${name})
endfunction()
