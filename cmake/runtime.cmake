# The install components that make a package independent of the SYCL that it was built with:
#   cmake --install BUILD --prefix P --component runtime          what programs load, and the headers to compile them
#   cmake --install BUILD --prefix P --component runtime-onemkl   what the module for oneMKL loads; 0.6 GB
# Both are left out of a plain `cmake --install`. They are for the mode jit, whose SYCL is DPC++'s runtime.
if(NOT SYCLAMP_KERNELS STREQUAL "jit")
  return()
endif()

# syclamp_install_runtime(COMPONENT FOLDER REGEX…): the files of FOLDER whose names match.
function(syclamp_install_runtime component folder)
  file(GLOB names RELATIVE "${folder}" "${folder}/*")
  list(JOIN ARGN "|" wanted)
  list(FILTER names INCLUDE REGEX "^(${wanted})$")
  foreach(name IN LISTS names)
    file(REAL_PATH "${folder}/${name}" file) # a symbolic link would be installed as such
    install(FILES "${file}" RENAME "${name}" DESTINATION "${SYCLAMP_RUNTIME_FOLDER}/lib" COMPONENT ${component} EXCLUDE_FROM_ALL)
  endforeach()
endfunction()

# syclamp_install_licences(COMPONENT PACKAGE…): the licence texts of the wheels that the files came in, if they are there.
function(syclamp_install_licences component)
  foreach(package IN LISTS ARGN)
    file(GLOB texts "${SYCLAMP_SYCL_ROOT}/lib/python3*/site-packages/${package}-*.dist-info/LICENSE*"
      "${SYCLAMP_SYCL_ROOT}/share/doc/${package}/licensing/*" "${SYCLAMP_SYCL_ROOT}/share/doc/${package}/LICENSE*")
    list(FILTER texts EXCLUDE REGEX "/licensing$")
    install(FILES ${texts} DESTINATION "${SYCLAMP_RUNTIME_FOLDER}/share/doc/${package}" COMPONENT ${component} EXCLUDE_FROM_ALL)
  endforeach()
endfunction()

# What programs have been seen to load on a CPU, for every kind of CPU, and the adapters for GPUs. libur_loader belongs to
# releases of DPC++ that do not have it inside libsycl.
syclamp_install_runtime(runtime "${SYCLAMP_SYCL_LIB}"
  "libsycl\\.so\\.[0-9]+" "libsycl-jit\\.so" "libur_(loader|adapter_[a-z0-9_]+)\\.so\\.[0-9]+" "libumf\\.so\\.[0-9]+"
  "libOpenCL\\.so\\.1" "libintelocl\\.so" "libcommon_clang\\.so\\.[0-9.]+" "cl\\.cfg" "cl(bltfn|library)[a-z0-9]*\\.(rtl|o)"
  "libocl_svml_[a-z0-9]+\\.so" "libtbb(malloc)?\\.so\\.[0-9]+" "lib(imf|irng|svml)\\.so" "libintlc\\.so\\.[0-9]+")
syclamp_install_licences(runtime intel_sycl_rt intel_opencl_rt intel_cmplr_lib_ur intel_cmplr_lib_rt tbb umf opencl)

# The linker asks for libsycl.so.
file(GLOB sycl_library RELATIVE "${SYCLAMP_SYCL_LIB}" "${SYCLAMP_SYCL_LIB}/libsycl.so.*")
list(FILTER sycl_library INCLUDE REGEX "\\.so\\.[0-9]+$")
list(GET sycl_library 0 sycl_library)
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/runtime")
file(CREATE_LINK "${sycl_library}" "${PROJECT_BINARY_DIR}/runtime/libsycl.so" SYMBOLIC)
install(FILES "${PROJECT_BINARY_DIR}/runtime/libsycl.so" DESTINATION "${SYCLAMP_RUNTIME_FOLDER}/lib"
  COMPONENT runtime EXCLUDE_FROM_ALL)

# The headers of SYCL, without which nothing compiles that includes syclamp's. OpenCL's and UR's are included by them.
foreach(folder IN ITEMS sycl CL std unified-runtime)
  install(DIRECTORY "${SYCLAMP_SYCL_INCLUDE}/${folder}" DESTINATION "${SYCLAMP_RUNTIME_FOLDER}/include"
    COMPONENT runtime EXCLUDE_FROM_ALL)
endforeach()

if(TARGET syclamp_onemkl)
  get_filename_component(folder "${SYCLAMP_ONEMKL_sycl_blas}" DIRECTORY)
  # oneMKL chooses a library by the kind of CPU: def, mc3, avx2, avx512 or avx10.
  syclamp_install_runtime(runtime-onemkl "${folder}" "libmkl_(sycl_blas|intel_ilp64|tbb_thread|core)\\.so\\.[0-9]+"
    "libmkl_(vml_)?(def|mc3|avx2|avx512|avx10)\\.so\\.[0-9]+" "libtbb(malloc)?\\.so\\.[0-9]+")
  syclamp_install_licences(runtime-onemkl mkl onemkl_sycl_blas)
endif()
