# The kernels travel in the library as text. They are embedded when the library is built, so an edit rebuilds it.
# Every header of sycl_kernels/ is embedded, and every public header that one of them includes.
function(syclamp_embed_kernels output)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/sycl_kernels/*.hpp" "${PROJECT_SOURCE_DIR}/include/*.hpp")
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed_kernels.cmake")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DROOT=${PROJECT_SOURCE_DIR}" -P "${script}"
    DEPENDS ${headers} "${script}"
    COMMENT "Embedding the kernels" VERBATIM)
endfunction()
