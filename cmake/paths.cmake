# Refuses a path that a later tool would cut in two. setup/paths.sh says the same before anything is downloaded.
function(syclamp_refuse_path what path character reason)
  message(FATAL_ERROR "The path of ${what}, \"${path}\", has a ${character} in it: ${reason}. Move the project to a path "
                      "without a ${character}, or set SYCLAMP_SYCL_ROOT if only the SYCL runtime's path has one.")
endfunction()

# Lists of CMake, and of library folders in a program, have separators that cannot be escaped.
function(syclamp_check_path what path)
  if("${path}" MATCHES "[;]")
    syclamp_refuse_path("${what}" "${path}" semicolon "CMake separates lists by it")
  elseif("${path}" MATCHES ":")
    syclamp_refuse_path("${what}" "${path}" colon "the system's lists of library folders are separated by it")
  endif()
endfunction()

# Intel's CPU driver reads its own path from /proc, up to the first space; symbolic links do not help.
function(syclamp_check_sycl_path path)
  syclamp_check_path("the SYCL runtime" "${path}")
  file(REAL_PATH "${path}" real)
  if("${real}" MATCHES "[ \t\n]")
    syclamp_refuse_path("the SYCL runtime" "${real}" space "Intel's CPU driver does not find its files there")
  endif()
endfunction()
