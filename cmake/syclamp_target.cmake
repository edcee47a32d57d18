# What every target of syclamp has in common: C++20, strict floating point, warnings, SYCL.
#   syclamp_target(TARGET [PRIVATE])   PRIVATE: those who link to it need neither C++20 nor SYCL
function(syclamp_target target)
  set(scope PUBLIC)
  if(ARGC GREATER 1)
    set(scope ${ARGV1})
  endif()
  target_compile_features(${target} ${scope} cxx_std_20)
  target_compile_options(${target} PRIVATE ${SYCLAMP_STRICT_FP_HOST_FLAGS} -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
    $<$<BOOL:${SYCLAMP_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND SYCLAMP_KERNELS STREQUAL "jit")
    target_compile_options(${target} PRIVATE -Wno-restrict) # g++ 12 sees overlaps in std::string that are not there
  endif()
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} ${scope} syclamp::sycl)
  if(SYCLAMP_PRECOMPILED) # of this folder; see precompile.cmake
    target_precompile_headers(${target} REUSE_FROM ${SYCLAMP_PRECOMPILED})
    # Macros that the headers read have to be the same.
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:${SYCLAMP_PRECOMPILED},COMPILE_DEFINITIONS>)
  endif()
  if(SYCLAMP_KERNELS STREQUAL "aot-acpp")
    get_target_property(sources ${target} SOURCES)
    add_sycl_to_target(TARGET ${target} SOURCES ${sources})
  endif()
endfunction()
