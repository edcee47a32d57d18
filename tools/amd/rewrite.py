# SPDX-License-Identifier: Apache-2.0
"""Rewrites LLVM IR that llvm-spirv made of our kernels, so that LLVM can compile it for AMD GPUs.

OpenCL's address spaces become AMD's, and OpenCL's built-in functions get bodies. Only figures are taken from the result: it is
never run. llvm-spirv gives all atomic operations without their memory order, so they are acquire and release here.
"""
import re

LAYOUT = ("e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-"
          "p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-"
          "v2048:2048-n32:64-S32-A5-G1-ni:7:8:9")
UNSIGNED = set("htjm")  # letters of unsigned types in mangled names
BITS = {"half": 16, "float": 32, "double": 64}
RMW = {"atomic_add": "add", "atomic_sub": "sub", "atomic_xchg": "xchg", "atomic_min": "min", "atomic_max": "max",
       "atomic_or": "or", "atomic_and": "and", "atomic_xor": "xor"}
# Functions with an intrinsic of the same operands.
INTRINSICS = {"fabs": "fabs", "fma": "fma", "sqrt": "sqrt", "floor": "floor", "rint": "rint", "trunc": "trunc", "exp": "exp",
              "exp2": "exp2", "log": "log", "log2": "log2", "fmin": "minnum", "fmax": "maxnum", "copysign": "copysign",
              "popcount": "ctpop"}
SHUFFLES = ("sub_group_shuffle_xor", "intel_sub_group_shuffle_xor")
WORK_ITEM = {"get_local_id": ("workitem.id.x", 0), "get_group_id": ("workgroup.id.x", 0)}


def scalar(kind):
    return re.sub(r"<\d+ x (\w+)>", r"\1", kind)


def overload(kind):
    """A type as it stands in an intrinsic's name: v4f32 of <4 x float>."""
    count = re.match(r"<(\d+) x", kind)
    name = scalar(kind)
    return (f"v{count[1]}" if count else "") + (f"f{BITS[name]}" if name in BITS else name)


def conversion(result, source, mangled, name):
    """The instruction that converts `source` to `result`."""
    target, given = scalar(result), scalar(source)
    letter = re.search(r"([a-zA-Z])$", mangled)[1]
    if target in BITS and given in BITS:
        if target == given:
            return None
        return "fpext" if BITS[target] > BITS[given] else "fptrunc"
    if target in BITS:
        return "uitofp" if letter in UNSIGNED else "sitofp"
    if given in BITS:
        return "fptoui" if name.startswith("convert_u") else "fptosi"
    width, given_width = int(target[1:]), int(given[1:])
    if width == given_width:
        return None
    return "trunc" if width < given_width else "zext" if letter in UNSIGNED else "sext"


def body(result, symbol, operands):
    """The lines of a built-in function's body, and the intrinsics that it calls; None if the function is not known."""
    found = re.match(r"_Z(\d+)", symbol)
    if not found:
        return None
    length = int(found[1])
    name, mangled = symbol[found.end():found.end() + length], symbol[found.end() + length:]
    arguments = ", ".join(f"{kind} %{i}" for i, kind in enumerate(operands))
    if name in WORK_ITEM:  # work-groups have one dimension
        call = f"llvm.amdgcn.{WORK_ITEM[name][0]}"
        return [f"%n = call i32 @{call}()", "%w = zext i32 %n to i64", "%x = icmp eq i32 %0, 0", "%r = select i1 %x, i64 %w, i64 0",
                "ret i64 %r"], [f"declare i32 @{call}()"]
    if name == "get_num_groups":
        return ["%p = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()", "%n = load i32, ptr addrspace(4) %p, align 4",
                "%w = zext i32 %n to i64", "%x = icmp eq i32 %0, 0", "%r = select i1 %x, i64 %w, i64 1",
                "ret i64 %r"], ["declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()"]
    if name == "barrier":
        return ['fence syncscope("workgroup") release', "call void @llvm.amdgcn.s.barrier()", 'fence syncscope("workgroup") acquire',
                "ret void"], ["declare void @llvm.amdgcn.s.barrier()"]
    if name == "get_max_sub_group_size":
        return ["%r = call i32 @llvm.amdgcn.wavefrontsize()", "ret i32 %r"], ["declare i32 @llvm.amdgcn.wavefrontsize()"]
    if name in SHUFFLES and BITS.get(result, result) in (32, "i32"):  # as DPC++'s library of device functions does it
        calls = ("mbcnt.lo(i32, i32)", "mbcnt.hi(i32, i32)", "ds.bpermute(i32, i32)")
        return ["%l = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)", "%n = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %l)",
                "%o = xor i32 %n, %1", "%a = shl i32 %o, 2", f"%v = bitcast {result} %0 to i32",
                "%w = call i32 @llvm.amdgcn.ds.bpermute(i32 %a, i32 %v)", f"%r = bitcast i32 %w to {result}",
                f"ret {result} %r"], [f"declare i32 @llvm.amdgcn.{call}" for call in calls]
    if name.startswith("convert_"):
        instruction = conversion(result, operands[0], mangled, name)
        if instruction is None:
            return [f"ret {result} %0"], []
        return [f"%r = {instruction} {operands[0]} %0 to {result}", f"ret {result} %r"], []
    if name in RMW:
        operation = RMW[name]
        if operation in ("min", "max") and mangled[-1] in UNSIGNED:
            operation = "u" + operation
        return [f'%r = atomicrmw {operation} {operands[0]} %0, {operands[1]} %1 syncscope("agent") acq_rel', f"ret {result} %r"], []
    if name == "atomic_cmpxchg":
        return [f'%p = cmpxchg {operands[0]} %0, {result} %1, {result} %2 syncscope("agent") acq_rel acquire',
                f"%r = extractvalue {{ {result}, i1 }} %p, 0", f"ret {result} %r"], []
    if name in INTRINSICS:
        call = f"llvm.{INTRINSICS[name]}.{overload(result)}"
        return [f"%r = call {result} @{call}({arguments})", f"ret {result} %r"], [f"declare {result} @{call}({', '.join(operands)})"]
    if name == "clz":
        call = f"llvm.ctlz.{overload(result)}"
        return [f"%r = call {result} @{call}({arguments}, i1 false)", f"ret {result} %r"], [f"declare {result} @{call}({operands[0]}, i1)"]
    if name in ("min", "max"):
        call = f"llvm.{'u' if mangled[0] in UNSIGNED else 's'}{name}.{overload(result)}"
        return [f"%r = call {result} @{call}({arguments})", f"ret {result} %r"], [f"declare {result} @{call}({', '.join(operands)})"]
    classes = {"isnormal": 0x108, "isnan": 0x003, "isinf": 0x204, "isfinite": 0x1f8, "signbit": None}
    if name in classes:
        true = "-1" if result.startswith("<") else "1"
        bit = re.sub(r"i\d+$|i\d+>$", lambda kind: "i1>" if kind[0].endswith(">") else "i1", result)
        extend = f"%r = {'sext' if true == '-1' else 'zext'} {bit} %c to {result}"
        if name == "signbit":
            whole = re.sub(r"half|float|double", lambda kind: f"i{BITS[kind[0]]}", operands[0])
            return [f"%b = bitcast {operands[0]} %0 to {whole}", f"%c = icmp slt {whole} %b, zeroinitializer" if "<" in whole
                    else f"%c = icmp slt {whole} %b, 0", extend, f"ret {result} %r"], []
        call = f"llvm.is.fpclass.{overload(operands[0])}"
        return [f"%c = call {bit} @{call}({operands[0]} %0, i32 {classes[name]})", extend,
                f"ret {result} %r"], [f"declare {bit} @{call}({operands[0]}, i32 immarg)"]
    return None


def split_operands(text):
    """The types of a declaration's operands, without their attributes."""
    parts = re.findall(r"(?:<[^>]*>|[^,<])+", text)
    return [re.match(r"\s*(<[^>]+>|ptr(?: addrspace\(\d\))?|\w+)", part)[1] for part in parts if part.strip()]


def address_spaces(text):
    text = text.replace("addrspace(2)", "addrspace(CONSTANT)").replace(" addrspace(4)", "").replace("addrspace(CONSTANT)", "addrspace(4)")
    text = re.sub(r"(@llvm\.\w+(?:\.\w+)*?)((?:\.p\d)+)", lambda call: call[1] + call[2].replace(".p4", ".p0"), text)
    text = re.sub(r"addrspacecast (\(?)ptr ([^\s,()]+|getelementptr [^\n]*?) to ptr(?! addrspace)", r"bitcast \1ptr \2 to ptr", text)
    text = re.sub(r"^(\s+)(%\S+) = alloca (.*)$",
                  lambda line: f'{line[1]}%p{line[2][1:].strip(chr(34))}.private = alloca {line[3]}, addrspace(5)\n'
                               f"{line[1]}{line[2]} = addrspacecast ptr addrspace(5) %p{line[2][1:].strip(chr(34))}.private to ptr",
                  text, flags=re.M)
    return re.sub(r"^.*@llvm\.lifetime\..*\n", "", text, flags=re.M)


def group_sizes(text):
    """Work-groups have a fixed size, which decides how many registers a work-item may use."""
    nodes = dict(re.findall(r"^(!\d+) = !\{i32 (\d+), i32 1, i32 1\}", text, flags=re.M))
    return re.sub(r"^(define amdgpu_kernel [^\n]*\))(?= #\d+)([^\n]*!reqd_work_group_size (!\d+))",
                  lambda kernel: f'{kernel[1]} "amdgpu-flat-work-group-size"="{nodes[kernel[3]]},{nodes[kernel[3]]}"{kernel[2]}',
                  text, flags=re.M)


def for_amd(text):
    """The IR for AMD GPUs. Raises ValueError if it calls an unknown built-in function."""
    text = re.sub(r'^target datalayout = .*$', f'target datalayout = "{LAYOUT}"', text, flags=re.M)
    text = re.sub(r'^target triple = .*$', 'target triple = "amdgcn-amd-amdhsa"', text, flags=re.M)
    text = address_spaces(text).replace("spir_kernel", "amdgpu_kernel").replace("spir_func ", "")
    text = re.sub(r"(addrspace\(3\) global .*?)zeroinitializer", r"\1poison", text)  # local memory has no first value
    text = group_sizes(text)
    lines = text.split("\n")
    text = "\n".join(line for i, line in enumerate(lines) if not line.startswith("declare ") or line not in lines[:i])
    needed, bodies = {}, []
    for line in re.findall(r"^declare .*$", text, flags=re.M):
        result, symbol, operands = re.match(r"declare (?:\w+ )*?(<[^>]+>|void|ptr(?: addrspace\(\d\))?|i\d+|half|float|double) "
                                            r'@([\w.]+)\((.*?)\)(?: #\d+)?$', line).groups()
        if symbol.startswith("llvm."):
            continue
        made = body(result, symbol, split_operands(operands))
        if made is None:
            raise ValueError(f"the built-in function {symbol} has no body in tools/amd/rewrite.py")
        parameters = ", ".join(f"{kind} %{i}" for i, kind in enumerate(split_operands(operands)))
        bodies.append(f"define internal {result} @{symbol}({parameters}) alwaysinline {{\n  " + "\n  ".join(made[0]) + "\n}\n")
        needed.update((re.search(r"@([\w.]+)", intrinsic)[1], intrinsic) for intrinsic in made[1])
        text = text.replace(line + "\n", "")
    present = set(re.findall(r"^declare .*?@([\w.]+)\(", text, flags=re.M))
    return text + "\n" + "\n".join(bodies) + "\n".join(line for name, line in needed.items() if name not in present) + "\n"
