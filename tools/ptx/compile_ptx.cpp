// SPDX-License-Identifier: Apache-2.0
// Compiles SYCL source to PTX, or to SPIR-V, without a GPU. tools/ptx/ptx builds this program.
//   compile_ptx SOURCE OUTPUT [--arch=sm_80] [COMPILER OPTION…]
//   compile_ptx SOURCE --check [--arch=sm_80] [COMPILER OPTION…]
// An OUTPUT that ends in .spv gets SPIR-V. With --arch, the PTX is for that architecture; without it, for the
// compiler's default, sm_75. --check stops after the front end, which reports all errors in the source.
//
// It calls `compileSYCL` and `addToJITConfiguration`, private functions of DPC++'s in-process compiler (libsycl-jit of
// release 2026.2). The types below repeat their interface. Another release may differ, so only maintainers' tools may
// depend on this file.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

// The interface of compileSYCL.
struct source_file {
  const char* path;
  const char* text;
};
template <typename T>
struct array_view {
  const T* data;
  std::size_t size;
};
enum class binary_format : std::uint32_t { none, llvm, spirv, ptx, amdgcn };
struct device_image {
  binary_format format;
  std::uint64_t address_bits;
  const char* start;
  std::uint64_t size;
  void* unused[4];
};
struct compilation {
  int error;
  device_image* images;
  std::size_t image_count;
  char* options;
  char* ir;
  std::size_t ir_size;
  char* log;
  char unused[256];  // the real type may be larger
  ~compilation() {}  // NOLINT: a type with a destructor is returned through memory, as the real one is
};
using compile_function = compilation (*)(source_file, array_view<source_file>, array_view<const char*>,
                                         array_view<char>, bool, binary_format, const char*);

// The interface of addToJITConfiguration. It takes the option's contents, which the destructor in the table would free.
struct configuration_option {
  void (*const* destructors)(void*);
  std::uint32_t number;
  const char* text;
  std::size_t length;
};
using configure_function = void (*)(configuration_option**);
constexpr std::uint32_t target_cpu = 1, target_features = 2;  // numbers of options

void configure(configure_function put, std::uint32_t number, std::string_view text) {
  static constexpr auto nothing = +[](void*) {};
  static constexpr void (*destructors[])(void*) = {nothing, nothing, nothing, nothing};
  auto* option = new configuration_option{destructors, number, text.data(), text.size()};  // used until the end
  put(&option);
}

// The CUDA target needs this library of device functions. The compiler holds a copy in its own memory, but in this
// release opens it as a file that does not exist. open() below therefore returns the copy.
constexpr std::string_view device_library_name = "nvptx64-nvidia-cuda/libspirv.l64.signed_char.bc";
std::string_view device_library;
bool stop_after_front_end = false;

std::vector<std::string_view> readable_segments(const dl_phdr_info& module) {
  std::vector<std::string_view> segments;
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const auto& header = module.dlpi_phdr[i];
    if (header.p_type == PT_LOAD && (header.p_flags & PF_R) != 0)
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers
      segments.emplace_back(reinterpret_cast<const char*>(module.dlpi_addr + header.p_vaddr), header.p_filesz);
  }
  return segments;
}

/// Embedded files are rows of four words: path, its length, contents, their length. Finds the row by the path's
/// address.
std::string_view embedded_file(const std::vector<std::string_view>& segments, std::string_view name) {
  for (const std::string_view text : segments) {
    const std::size_t found = text.find(name);
    if (found == text.npos) continue;
    const std::size_t begin = text.rfind('\0', found) + 1;
    const auto address = reinterpret_cast<std::uintptr_t>(text.data() + begin);
    const std::uintptr_t length = found + name.size() - begin;
    for (const std::string_view table : segments)
      for (std::size_t i = 0; i + 4 * sizeof(std::uintptr_t) <= table.size(); i += sizeof(std::uintptr_t)) {
        std::uintptr_t row[4];
        std::memcpy(row, table.data() + i, sizeof row);
        // NOLINTNEXTLINE(performance-no-int-to-ptr): so does the table
        if (row[0] == address && row[1] == length) return {reinterpret_cast<const char*>(row[2]), row[3]};
      }
  }
  return {};
}

void find_device_library(void* compiler) {
  link_map* map = nullptr;
  if (dlinfo(compiler, RTLD_DI_LINKMAP, &map) != 0) return;
  const auto visit = [](dl_phdr_info* module, std::size_t, void* base) {
    if (module->dlpi_addr != *static_cast<const ElfW(Addr)*>(base)) return 0;
    device_library = embedded_file(readable_segments(*module), device_library_name);
    return 1;
  };
  dl_iterate_phdr(visit, &map->l_addr);
}

/// A file descriptor of the device library if `path` names it, else -1.
int open_device_library(std::string_view path) {
  if (device_library.empty() || path.find(device_library_name) == path.npos) return -1;
  if (stop_after_front_end) std::_Exit(0);  // the compiler links this library to what its front end has made
  const int file = memfd_create("device library", 0);
  for (std::string_view rest = device_library; !rest.empty();) {
    const ssize_t written = write(file, rest.data(), rest.size());
    if (written <= 0) return -1;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  lseek(file, 0, SEEK_SET);
  return file;
}

int fail(std::string_view message) {
  std::cerr << "compile_ptx: " << message << '\n';
  return 1;
}

}  // namespace

// Take the place of the C library's functions, also for the compiler.
extern "C" int open(const char* path, int flags, ...) {
  if (const int file = open_device_library(path); file >= 0) return file;
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  return openat(AT_FDCWD, path, flags, mode);
}
extern "C" int open64(const char* path, int flags, ...) __attribute__((alias("open")));

int main(int argc, char** argv) {
  if (argc < 3) return fail("usage: compile_ptx SOURCE OUTPUT|--check [--arch=ARCHITECTURE] [COMPILER OPTION…]");
  void* compiler = dlopen("libsycl-jit.so", RTLD_NOW);
  if (compiler == nullptr) return fail(dlerror());
  const auto compile = reinterpret_cast<compile_function>(dlsym(compiler, "compileSYCL"));
  if (compile == nullptr) return fail("libsycl-jit.so has no function compileSYCL; this tool needs DPC++ 2026.2");
  find_device_library(compiler);
  if (device_library.empty())
    return fail("libsycl-jit.so holds no device library for CUDA; this tool needs DPC++ 2026.2");

  std::ifstream input(argv[1]);
  if (!input) return fail(std::string("cannot read ") + argv[1]);
  const std::string text(std::istreambuf_iterator<char>(input), {});
  std::vector<const char*> options(argv + 3, argv + argc);
  constexpr std::string_view arch_option = "--arch=";
  if (!options.empty() && std::string_view(options[0]).substr(0, arch_option.size()) == arch_option) {
    const char* arch = options[0] + arch_option.size();
    const auto put = reinterpret_cast<configure_function>(dlsym(compiler, "addToJITConfiguration"));
    if (put == nullptr)
      return fail("libsycl-jit.so has no function addToJITConfiguration; this tool needs DPC++ 2026.2");
    // The first two are for the back end, the others for the front end. BF16 needs PTX 7.0, Blackwell needs 8.6.
    configure(put, target_cpu, arch);
    configure(put, target_features, std::string_view(arch).size() > 5 ? "+ptx86" : "+ptx78");
    options.erase(options.begin());
    options.insert(options.end(), {"-Xclang", "-target-cpu", "-Xclang", arch});
  }
  const std::string_view name = argv[2], ending = ".spv";
  stop_after_front_end = name == "--check";
  const bool is_spirv = name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending;
  const auto format = is_spirv ? binary_format::spirv : binary_format::ptx;
  const compilation result =
      compile({"kernel.cpp", text.c_str()}, {}, {options.data(), options.size()}, {}, false, format, nullptr);
  if (result.error != 0) return fail(result.log != nullptr ? result.log : "the compiler failed without a message");

  if (stop_after_front_end) return fail("the compiler did not come to the end of its front end");
  std::ofstream output(argv[2], std::ios::binary);
  for (std::size_t i = 0; i < result.image_count; ++i)
    output.write(result.images[i].start, static_cast<std::streamsize>(result.images[i].size));
  output.close();
  if (!output) return fail(std::string("cannot write ") + argv[2]);
  return 0;
}
