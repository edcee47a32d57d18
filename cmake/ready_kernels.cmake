# Kernels as SPIR-V, beside the library, so that users need no compiler at run time. Native code is never shipped: it is
# right for one CPU and driver only.
#   syclamp_kernels        the profile cpu; part of the default build
#   syclamp_all_kernels    every profile; for tests and packages
function(syclamp_add_ready_kernels_tool)
  # The library's objects, because the shared library hides what the tool calls.
  add_executable(syclamp_ready_kernels "${PROJECT_SOURCE_DIR}/tools/ready_kernels.cpp" $<TARGET_OBJECTS:syclamp>
    $<TARGET_OBJECTS:syclamp_support>)
  target_link_libraries(syclamp_ready_kernels PRIVATE syclamp_headers ${SYCLAMP_FMT} ${CMAKE_DL_LIBS})
  target_include_directories(syclamp_ready_kernels PRIVATE "${PROJECT_SOURCE_DIR}/src")
  set_target_properties(syclamp_ready_kernels PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  set(SYCLAMP_PRECOMPILED "") # the headers of this folder are precompiled for libraries
  syclamp_target(syclamp_ready_kernels)
endfunction()
syclamp_add_ready_kernels_tool()

# The library looks for this folder beside itself: src/launch/jit/ready_kernels.cpp.
set(ready_folder "$<TARGET_FILE_DIR:syclamp>/syclamp/kernels")

# The tool knows which families are up to date, so it runs whenever the library has changed.
function(syclamp_add_ready_kernels profile stamp)
  add_custom_command(OUTPUT "${stamp}"
    COMMAND syclamp_ready_kernels "${profile}" "${ready_folder}" "${stamp}"
    DEPENDS syclamp_ready_kernels
    COMMENT "Compiling the kernels of the profile ${profile} to SPIR-V" VERBATIM)
endfunction()

file(STRINGS "${PROJECT_SOURCE_DIR}/backends/profiles.hpp" includes REGEX "^#include \"backends/[a-z_]+\\.inc\"")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/backends/profiles.hpp")
set(other_stamps "")
foreach(line IN LISTS includes)
  string(REGEX REPLACE "^#include \"backends/([a-z_]+)\\.inc\".*" "\\1" profile "${line}")
  set(stamp "${CMAKE_CURRENT_BINARY_DIR}/ready_kernels_${profile}.stamp")
  syclamp_add_ready_kernels("${profile}" "${stamp}")
  if(profile STREQUAL "cpu")
    add_custom_target(syclamp_kernels ALL DEPENDS "${stamp}")
  else()
    list(APPEND other_stamps "${stamp}")
  endif()
endforeach()
add_custom_target(syclamp_all_kernels DEPENDS ${other_stamps})
add_dependencies(syclamp_all_kernels syclamp_kernels)

# A package that was built with syclamp_all_kernels has every profile.
if(SYCLAMP_INSTALL)
  install(DIRECTORY "${ready_folder}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/syclamp" OPTIONAL FILES_MATCHING PATTERN "*.spirv")
endif()
