# What every target of syclamp has in common: C++20, strict floating point, warnings, SYCL.
function(syclamp_target target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE ${SYCLAMP_STRICT_FP_HOST_FLAGS} -Wall -Wextra -Wpedantic -Wconversion
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> # g++ 12 sees overlaps in std::string that are not there (GCC bug 105651)
    $<$<BOOL:${SYCLAMP_WERROR}>:-Werror>)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PUBLIC syclamp::sycl)
  if(SYCLAMP_KERNELS STREQUAL "aot-acpp")
    get_target_property(sources ${target} SOURCES)
    add_sycl_to_target(TARGET ${target} SOURCES ${sources})
  endif()
endfunction()
