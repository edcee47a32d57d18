# Paths of matrix products that need somebody's library. Each is a module: found at configure time, loaded at run time.
# Without any of them matrices are multiplied by our own kernels.
option(SYCLAMP_ONEMKL "Multiply matrices with oneMKL on CPUs and Intel GPUs, if it is found" ON)
option(SYCLAMP_CUBLAS "Multiply matrices with cuBLAS on NVIDIA GPUs, if it is found" ON)
option(SYCLAMP_ROCBLAS "Multiply matrices with rocBLAS on AMD GPUs, if it is found" ON)

# syclamp_matrix_module(NAME INCLUDE LIBRARIES…): src/matrix/NAME.cpp as a module beside the library.
function(syclamp_matrix_module name include)
  add_library(syclamp_${name} MODULE matrix/${name}.cpp)
  target_include_directories(syclamp_${name} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
  target_include_directories(syclamp_${name} SYSTEM PRIVATE "${include}")
  # All of the libraries are needed, also those that only the others need: these do not say where to find them.
  target_link_libraries(syclamp_${name} PRIVATE -Wl,--no-as-needed ${ARGN} -Wl,--as-needed)
  syclamp_target(syclamp_${name})
  add_dependencies(syclamp_matrix syclamp_${name})
  string(TOUPPER "SYCLAMP_${name}_MODULE" macro)
  set_property(SOURCE matrix/gemm.cpp APPEND PROPERTY
    COMPILE_DEFINITIONS "${macro}=\"$<TARGET_FILE_NAME:syclamp_${name}>\"")
  # A module is loaded by the name of its file, which therefore says which version it belongs to.
  set_target_properties(syclamp_${name} PROPERTIES SUFFIX "${CMAKE_SHARED_MODULE_SUFFIX}.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
  if(SYCLAMP_INSTALL)
    install(TARGETS syclamp_${name} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
  message(STATUS "Matrix products: ${name} found")
endfunction()

# Search again if the path of SYCL has changed.
if(NOT SYCLAMP_ONEMKL_ROOTS STREQUAL "${SYCLAMP_SYCL_ROOT};$ENV{MKLROOT}")
  set(SYCLAMP_ONEMKL_ROOTS "${SYCLAMP_SYCL_ROOT};$ENV{MKLROOT}" CACHE INTERNAL "")
  unset(SYCLAMP_ONEMKL_INCLUDE CACHE)
  foreach(library IN ITEMS sycl_blas intel_ilp64 tbb_thread core tbb)
    unset(SYCLAMP_ONEMKL_${library} CACHE)
  endforeach()
endif()
if(SYCLAMP_ONEMKL AND NOT SYCLAMP_KERNELS STREQUAL "aot-acpp")
  find_path(SYCLAMP_ONEMKL_INCLUDE oneapi/mkl/blas.hpp HINTS ${SYCLAMP_ONEMKL_ROOTS} PATH_SUFFIXES include)
  set(libraries "")
  foreach(library IN ITEMS sycl_blas intel_ilp64 tbb_thread core)
    # The wheels have no names without a version.
    find_library(SYCLAMP_ONEMKL_${library} NAMES mkl_${library} libmkl_${library}.so.6 libmkl_${library}.so.5 libmkl_${library}.so.3
      libmkl_${library}.so.2 HINTS ${SYCLAMP_ONEMKL_ROOTS} PATH_SUFFIXES lib)
    list(APPEND libraries "${SYCLAMP_ONEMKL_${library}}")
  endforeach()
  find_library(SYCLAMP_ONEMKL_tbb NAMES tbb HINTS ${SYCLAMP_ONEMKL_ROOTS} ENV TBBROOT PATH_SUFFIXES lib)
  list(APPEND libraries "${SYCLAMP_ONEMKL_tbb}")
  if(SYCLAMP_ONEMKL_INCLUDE AND NOT "${libraries}" MATCHES "NOTFOUND")
    syclamp_matrix_module(onemkl "${SYCLAMP_ONEMKL_INCLUDE}" ${libraries})
    get_filename_component(folder "${SYCLAMP_ONEMKL_sycl_blas}" DIRECTORY)
    set_property(TARGET syclamp_onemkl APPEND PROPERTY INSTALL_RPATH "${folder}")
  else()
    message(STATUS "Matrix products: no oneMKL in \"${SYCLAMP_SYCL_ROOT}\" or MKLROOT; our own kernels are used")
  endif()
endif()

# NVIDIA's and AMD's libraries are of use only with a SYCL that reaches their GPUs, ahead of time.
if(SYCLAMP_CUBLAS AND NOT SYCLAMP_KERNELS STREQUAL "jit")
  find_package(CUDAToolkit QUIET)
  if(TARGET CUDA::cublas)
    syclamp_matrix_module(cublas "${CUDAToolkit_INCLUDE_DIRS}" CUDA::cublas CUDA::cudart)
  endif()
endif()
if(SYCLAMP_ROCBLAS AND NOT SYCLAMP_KERNELS STREQUAL "jit")
  find_package(rocblas QUIET HINTS "$ENV{ROCM_PATH}" /opt/rocm)
  if(TARGET roc::rocblas)
    syclamp_matrix_module(rocblas "${rocblas_INCLUDE_DIR}" roc::rocblas)
    target_compile_definitions(syclamp_rocblas PRIVATE __HIP_PLATFORM_AMD__)
  endif()
endif()
