# Installation: library, public headers, and what find_package(syclamp CONFIG) reads.
include(CMakePackageConfigHelpers)

install(TARGETS syclamp syclamp_matrix syclamp_nn EXPORT syclamp FILE_SET HEADERS)
install(EXPORT syclamp NAMESPACE syclamp:: DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/syclamp" FILE syclamp-targets.cmake)
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/syclamp-config.cmake.in"
  "${PROJECT_BINARY_DIR}/syclamp-config.cmake" INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/syclamp")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/syclamp-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/syclamp-config.cmake" "${PROJECT_BINARY_DIR}/syclamp-config-version.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/syclamp-sycl.cmake" DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/syclamp")
