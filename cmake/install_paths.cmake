# Where the SYCL runtime lies in an installed package, and where installed libraries and programs look for their libraries.
# All paths begin at the file itself ($ORIGIN), so an installed folder can be moved. The SYCL of this build is the last resort.
set(SYCLAMP_RUNTIME_FOLDER "${CMAKE_INSTALL_LIBDIR}/syclamp/sycl")
if(SYCLAMP_INSTALL)
  file(RELATIVE_PATH lib_from_bin "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  list(APPEND CMAKE_INSTALL_RPATH "$ORIGIN" "$ORIGIN/${lib_from_bin}" "$ORIGIN/syclamp/sycl/lib" "$ORIGIN/${lib_from_bin}/syclamp/sycl/lib")
  if(SYCLAMP_SYCL_LIB)
    list(APPEND CMAKE_INSTALL_RPATH "${SYCLAMP_SYCL_LIB}") # CMake leaves out what lies below the source folder
  endif()
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()
