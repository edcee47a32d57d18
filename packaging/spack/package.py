# SPDX-License-Identifier: Apache-2.0
"""The Spack recipe of syclamp. docs/installing.md says how to use it. It has not been run yet."""

from spack.package import *


class Syclamp(CMakePackage):
    """Mixed-precision loss scaling for every device that SYCL reaches."""

    maintainers = []
    license("Apache-2.0")

    # There is no archive to download yet: `spack develop --path CHECKOUT syclamp@0.2.0` names a checkout.
    version("0.2.0")

    variant(
        "kernels",
        default="jit",
        values=("jit", "aot-dpcpp"),
        multi=False,
        description="compile kernels at run time (CPUs, Intel GPUs), or with the library by DPC++",
    )
    variant("sycl_targets", default="none", description="value for -fsycl-targets=, for example nvptx64-nvidia-cuda")
    variant("shared", default=True, description="build shared libraries")
    variant("program", default=True, description="build the program syclamp")
    variant("onemkl", default=False, description="multiply matrices with oneMKL")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("fmt@9:")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("cli11@2:", type="build", when="+program")
    depends_on("python@3:", type=("build", "test"))
    # Without being the compiler of the package: the mode jit compiles with g++ or clang++ and needs headers and runtime.
    depends_on("intel-oneapi-compilers@2025:", when="kernels=jit")
    depends_on("intel-oneapi-mkl", when="+onemkl")

    conflicts("%gcc@:11", when="kernels=jit", msg="syclamp needs C++20: g++ 12 or later")
    requires("%oneapi", when="kernels=aot-dpcpp", msg="kernels=aot-dpcpp needs %oneapi")

    generator("ninja")

    def cmake_args(self):
        arguments = [
            self.define_from_variant("SYCLAMP_KERNELS", "kernels"),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("SYCLAMP_PROGRAM", "program"),
            self.define_from_variant("SYCLAMP_ONEMKL", "onemkl"),
            self.define("SYCLAMP_TESTS", self.run_tests),
            self.define("SYCLAMP_EXAMPLES", self.run_tests),
            self.define("SYCLAMP_WERROR", False),
        ]
        if self.spec.satisfies("kernels=jit"):
            root = self.spec["intel-oneapi-compilers"].package.component_prefix
            arguments.append(self.define("SYCLAMP_SYCL_ROOT", root))
        elif self.spec.variants["sycl_targets"].value != "none":
            arguments.append(self.define_from_variant("SYCLAMP_SYCL_TARGETS", "sycl_targets"))
        return arguments
