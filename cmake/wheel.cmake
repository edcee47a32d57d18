# Defaults for `pip install .`, which calls CMake through scikit-build-core. Other builds are not changed.
if(NOT SKBUILD)
  return()
endif()

# pip installs the SYCL of pyproject.toml into a folder that only its Python knows.
if(NOT SYCLAMP_SYCL_ROOT AND NOT DEFINED ENV{SYCLAMP_SYCL_ROOT} AND NOT EXISTS "${SYCLAMP_DEFAULT_SYCL_ROOT}")
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
  set(script [[
import importlib.metadata
files = importlib.metadata.files("intel-sycl-rt") or []
print(next(file.locate().resolve().parent.parent for file in files if file.name == "libsycl.so"))
]])
  execute_process(COMMAND "${Python_EXECUTABLE}" -c "${script}" OUTPUT_VARIABLE SYCLAMP_DEFAULT_SYCL_ROOT
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
