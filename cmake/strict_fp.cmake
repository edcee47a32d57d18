# Strict floating point: kernels and host code compute what is written, on every compiler.
#   SYCLAMP_STRICT_FP_HOST_FLAGS     probed with the C++ compiler
#   SYCLAMP_STRICT_FP_DEVICE_FLAGS   probed with the device compiler: in-process (jit) or the C++ compiler itself (aot)
# A compiler that refuses one of them cannot be used: that is an error here, not a wrong result later.
include(CheckCXXCompilerFlag)

set(SYCLAMP_STRICT_FP_HOST_FLAGS -fno-fast-math -ffp-contract=off)
set(SYCLAMP_STRICT_FP_DEVICE_FLAGS ${SYCLAMP_STRICT_FP_HOST_FLAGS})
if(NOT SYCLAMP_KERNELS STREQUAL "aot-acpp") # AdaptiveCpp rounds division and square root correctly by default
  list(APPEND SYCLAMP_STRICT_FP_DEVICE_FLAGS -foffload-fp32-prec-div -foffload-fp32-prec-sqrt)
endif()

function(syclamp_probe_cxx_flags)
  foreach(flag IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER "SYCLAMP_ACCEPTS${flag}" result)
    check_cxx_compiler_flag("${flag}" ${result})
    if(NOT ${result})
      message(FATAL_ERROR "${CMAKE_CXX_COMPILER} refuses ${flag}, without which results would depend on the compiler's "
                          "mood. Use g++ 12 or later, clang 16 or later, or a SYCL compiler that accepts it.")
    endif()
  endforeach()
endfunction()

syclamp_probe_cxx_flags(${SYCLAMP_STRICT_FP_HOST_FLAGS})
if(NOT SYCLAMP_KERNELS STREQUAL "jit")
  syclamp_probe_cxx_flags(${SYCLAMP_STRICT_FP_DEVICE_FLAGS})
elseif(NOT SYCLAMP_JIT_FLAGS_PROBED STREQUAL "${SYCLAMP_STRICT_FP_DEVICE_FLAGS};${SYCLAMP_SYCL_LIBRARY}")
  message(STATUS "Asking the run-time compiler whether it accepts ${SYCLAMP_STRICT_FP_DEVICE_FLAGS}")
  # With the library's own way to find the CPU's driver; the program has to run in any environment.
  try_run(ran compiled "${CMAKE_BINARY_DIR}/probe"
    SOURCES "${CMAKE_CURRENT_LIST_DIR}/probe_jit_flags.cpp" "${PROJECT_SOURCE_DIR}/src/launch/dpcpp_runtime.cpp"
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${SYCLAMP_SYCL_INCLUDE};${PROJECT_SOURCE_DIR}/src" -DCMAKE_BUILD_RPATH=${SYCLAMP_SYCL_LIB}
    LINK_LIBRARIES "${SYCLAMP_SYCL_LIBRARY}" fmt::fmt-header-only ${CMAKE_DL_LIBS} CXX_STANDARD 20
    COMPILE_OUTPUT_VARIABLE compile_log RUN_OUTPUT_VARIABLE run_log
    ARGS ${SYCLAMP_STRICT_FP_DEVICE_FLAGS})
  if(NOT compiled)
    message(FATAL_ERROR "A minimal SYCL program does not build with ${SYCLAMP_SYCL_ROOT}:\n${compile_log}")
  elseif(ran EQUAL 3) # no device on this machine; those who run syclamp have one
    message(WARNING "Not asked whether the run-time compiler accepts ${SYCLAMP_STRICT_FP_DEVICE_FLAGS}: ${run_log}"
                    "Kernels will be compiled when they are first used.")
  elseif(NOT ran EQUAL 0)
    message(FATAL_ERROR "DPC++'s run-time compiler in ${SYCLAMP_SYCL_ROOT} cannot be used:\n${run_log}")
  else()
    set(SYCLAMP_JIT_FLAGS_PROBED "${SYCLAMP_STRICT_FP_DEVICE_FLAGS};${SYCLAMP_SYCL_LIBRARY}" CACHE INTERNAL "flags the run-time compiler accepts")
  endif()
endif()
