# Installation: libraries, public headers, and what find_package(syclamp CONFIG) and pkg-config read.
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/syclamp")

# Each module is an export of its own, so that a package may leave it out: it is then a component that is not found.
set(export_syclamp syclamp)
set(export_syclamp_matrix syclamp-matrix)
set(export_syclamp_nn syclamp-nn)
set(export_syclamp_c syclamp-c)
foreach(target IN ITEMS syclamp syclamp_matrix syclamp_nn syclamp_c)
  install(TARGETS ${target} EXPORT ${export_${target}} FILE_SET HEADERS)
  install(EXPORT ${export_${target}} NAMESPACE syclamp:: DESTINATION "${package_folder}" FILE ${export_${target}}-targets.cmake)
endforeach()
if(TARGET syclamp_fortran)
  install(TARGETS syclamp_fortran EXPORT syclamp-fortran)
  install(EXPORT syclamp-fortran NAMESPACE syclamp:: DESTINATION "${package_folder}" FILE syclamp-fortran-targets.cmake)
  get_target_property(modules syclamp_fortran Fortran_MODULE_DIRECTORY)
  install(DIRECTORY "${modules}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/syclamp/fortran" FILES_MATCHING PATTERN "*.mod")
endif()
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/syclamp-config.cmake.in"
  "${PROJECT_BINARY_DIR}/syclamp-config.cmake" INSTALL_DESTINATION "${package_folder}" PATH_VARS SYCLAMP_RUNTIME_FOLDER)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/syclamp-config-version.cmake" VERSION ${PROJECT_VERSION}
  COMPATIBILITY SameMinorVersion) # before 1.0, a minor version may change the interface
install(FILES "${PROJECT_BINARY_DIR}/syclamp-config.cmake" "${PROJECT_BINARY_DIR}/syclamp-config-version.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/syclamp-sycl.cmake" DESTINATION "${package_folder}")

# pkg-config: the flags of SYCL as they are in syclamp-sycl.cmake. The runtime inside the package comes first.
set(pc_folder "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_prefix "/${pc_folder}" "/")
if(SYCLAMP_KERNELS STREQUAL "jit")
  set(sycl_cflags "-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING -isystem \${runtime}/include -isystem \${sycl_root}/include")
  set(sycl_libs "-L\${runtime}/lib -L\${sycl_root}/lib -Wl,-rpath,\${runtime}/lib -Wl,-rpath,\${sycl_root}/lib -lsycl")
else() # the compiler is a SYCL compiler
  get_target_property(sycl_cflags syclamp::sycl INTERFACE_COMPILE_OPTIONS)
  if(NOT sycl_cflags)
    set(sycl_cflags "")
  endif()
  list(JOIN sycl_cflags " " sycl_cflags)
  set(sycl_libs "${sycl_cflags}")
endif()

# syclamp_pkgconfig(NAME DESCRIPTION LIBRARY [REQUIRES])   REQUIRES: another module, or NO_SYCL for programs that do not include SYCL
function(syclamp_pkgconfig name pc_description pc_library)
  set(pc_name ${name})
  set(pc_requires "")
  set(pc_cflags "-I\${includedir}")
  if(name STREQUAL "syclamp-fortran")
    string(APPEND pc_cflags "/syclamp/fortran") # the modules
  endif()
  set(pc_libs "-L\${libdir} -Wl,-rpath,\${libdir} -l${pc_library}")
  if(ARGC GREATER 3 AND NOT ARGV3 STREQUAL "NO_SYCL")
    set(pc_requires "Requires: ${ARGV3} = ${PROJECT_VERSION}\n")
  elseif(ARGC EQUAL 3)
    string(APPEND pc_cflags " ${sycl_cflags}")
    string(APPEND pc_libs " ${sycl_libs}")
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/syclamp.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${pc_folder}")
endfunction()
syclamp_pkgconfig(syclamp "${PROJECT_DESCRIPTION}" syclamp)
syclamp_pkgconfig(syclamp-matrix "Matrix products of syclamp" syclamp_matrix syclamp)
syclamp_pkgconfig(syclamp-nn "Layers, losses and precision policies of syclamp" syclamp_nn syclamp-matrix)
syclamp_pkgconfig(syclamp-c "C interface of syclamp" syclamp_c NO_SYCL)
if(TARGET syclamp_fortran)
  syclamp_pkgconfig(syclamp-fortran "Fortran interface of syclamp" syclamp_fortran syclamp-c)
endif()
