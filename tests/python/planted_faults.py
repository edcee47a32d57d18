# SPDX-License-Identifier: Apache-2.0
"""Plants faults in the Python package and shows that its tests find each of them.

    planted_faults.py BUILD_FOLDER core|torch [NAME…]

A fault is a change of a source of the extension module, which is compiled and linked again, or of a Python file. Then one test runs,
which passes without the fault. With the fault it must fail or crash. Nothing in the checkout or in the build folder is changed.
"""
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Fault:
    name: str
    file: str  # below bindings/python
    text: str  # every occurrence is replaced
    replacement: str
    test: str  # below tests
    sources: tuple[str, ...] = ()  # to compile again; default: the file itself


ARRAYS, LIFETIMES, PROCESS = "python/test_arrays.py::test_", "python/test_lifetimes.py::test_", "python/test_process.py::test_"
DPNP, LEDGER, SCALER = "python/test_dpnp.py::test_", "python/test_ledger.py::test_", "python/test_scaler.py::test_"
FAULTS = {
    "core": [
        Fault("arrays not kept until the work is done", "src/engine.cpp", "{done, std::move(owners)}", "{done, {}}",
              LIFETIMES + "an_operation_keeps_its_arrays_until_it_is_complete"),
        Fault("arrays of an optimizer not kept", "src/optimizer.cpp", "keepers.push_back(std::move(array.owner));", "",
              LIFETIMES + "objects_keep_their_arrays_alive"),
        Fault("owners destroyed inside the list of work", "src/engine.cpp",
              "std::deque<submitted_work> complete = std::exchange(in_use_, {});", "in_use_.clear(); std::deque<submitted_work> complete;",
              LIFETIMES + "finalizers_may_use_the_engine"),
        Fault("owners destroyed while the next work is submitted", "src/engine.cpp", "complete.push_back(std::move(in_use_.front()));", "",
              LIFETIMES + "finalizers_may_use_the_engine_while_work_is_submitted"),
        Fault("deleter not called", "src/dlpack_arrays.cpp", "tensor->deleter(tensor);", "",
              LIFETIMES + "the_deleter_is_called_once_after_the_last_use"),
        Fault("deleter called twice", "src/dlpack_arrays.cpp", "tensor->deleter(tensor);", "tensor->deleter(tensor), tensor->deleter(tensor);",
              LIFETIMES + "the_deleter_is_called_once_after_the_last_use"),
        Fault("capsule not renamed", "src/dlpack_arrays.cpp", 'PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");', "",
              LIFETIMES + "the_deleter_is_called_once_after_the_last_use"),
        Fault("newer version of DLPack accepted", "src/dlpack_arrays.cpp", "managed->version.major != dlpack::supported_major",
              "managed->version.major < dlpack::supported_major", LIFETIMES + "a_newer_major_version_is_refused_and_deleted"),
        Fault("newer table of DLPack accepted", "src/dlpack_arrays.cpp",
              "table != nullptr && table->header.version.major != dlpack::supported_major", "false",
              LIFETIMES + "a_table_of_a_newer_major_version_is_not_used"),
        Fault("finalizer without the GIL", "src/arrays.cpp", "const nb::gil_scoped_acquire python;\n            Py_DECREF", "Py_DECREF",
              LIFETIMES + "finalizers_run_python"),
        Fault("deleter without the GIL", "src/dlpack_arrays.cpp",
              "const nb::gil_scoped_acquire python;\n            const nb::error_scope no_error;", "", LIFETIMES + "deleters_are_called_with_the_gil"),
        Fault("deleter called while an exception is raised", "src/dlpack_arrays.cpp", "const nb::error_scope no_error;", "",
              ARRAYS + "read_only_arrays_are_read_but_not_written"),
        Fault("read-only flag of DLPack ignored", "src/dlpack_arrays.cpp", "(managed->flags & dlpack::flag_read_only) != 0", "false",
              ARRAYS + "read_only_arrays_are_read_but_not_written"),
        Fault("read-only flag of buffers ignored", "src/interface_arrays.cpp", "array.is_read_only = view->readonly != 0;", "",
              ARRAYS + "read_only_arrays_are_read_but_not_written"),
        Fault("read-only flag of interfaces ignored", "src/interface_arrays.cpp", "array.is_read_only = nb::cast<bool>(data[1]);", "",
              ARRAYS + "read_only_arrays_are_read_but_not_written"),
        Fault("read-only gradients written", "src/optimizer.cpp", "read_only.push_back(parameters.size());", ";",
              ARRAYS + "read_only_gradients_are_not_written"),
        Fault("strides of structured arrays ignored", "src/interface_arrays.cpp", "if (stride % bytes != 0)", "if (false)",
              ARRAYS + "field_of_a_structured_array_is_refused"),
        Fault("strides of DLPack ignored", "src/dlpack_arrays.cpp", "if (tensor.strides != nullptr) strides.assign", "if (false) strides.assign",
              ARRAYS + "strides_of_dlpack"),
        Fault("GIL not released by a call", "src/engine.hpp", "const nanobind::gil_scoped_release others_run;", "",
              PROCESS + "other_threads_run_while_a_call_waits", sources=("engine.cpp", "tensors.cpp")),
        Fault("GIL not released by a wait", "src/engine.hpp", "const nanobind::gil_scoped_release others_run;", "",
              DPNP + "a_wait_releases_the_gil", sources=("engine.cpp",)),
        Fault("queue of an array ignored", "src/interface_arrays.cpp", 'array.queue = find_queue(nb::object(interface["syclobj"]));', "",
              DPNP + "arrays_of_another_queue_are_refused"),
        Fault("queue of a table of DLPack ignored", "src/dlpack_arrays.cpp",
              "if (!array.is_host) array.queue = current_queue(*table, managed->tensor.device);", "",
              DPNP + "the_table_of_dlpack_tells_the_queue"),
        Fault("engine chosen without the arrays", "syclamp/engine.py", "return _engine_on(queue)", "return default_engine()",
              DPNP + "arrays_choose_an_engine_on_their_queue"),
        Fault("step not ordered after commands of the optimizer's queue", "src/scaler.cpp",
              "events.insert(events.end(), others.begin(), others.end());", "", DPNP + "scaler_and_optimizer_with_two_engines"),
        Fault("commands of the optimizer's queue not ordered after the step", "src/scaler.cpp", "engine->order_caller();", ";",
              DPNP + "scaler_and_optimizer_with_two_engines"),
        Fault("deferral ended before work on another queue", "src/engine.cpp", "work.done.wait();", "static_cast<void>(work);",
              LIFETIMES + "a_deferral_ends_after_work_on_another_engine"),
        Fault("arrays of another queue released by a wait", "src/engine.cpp", "work.done.wait();", "static_cast<void>(work);",
              LIFETIMES + "a_wait_keeps_arrays_of_another_engine"),
        Fault("step on host memory of another context not waited for", "src/engine.cpp", "work.done.wait();", "static_cast<void>(work);",
              DPNP + "host_memory_of_another_context_is_complete_when_a_step_returns"),
        Fault("arrays of a joint step kept for one queue only", "src/scaler.cpp",
              "return engine.native().queue().ext_oneapi_submit_barrier();", "return static_cast<void>(engine), sycl::event();",
              DPNP + "a_joint_step_keeps_the_arrays_of_every_engine"),
        Fault("queue of an imported array not told", "src/arrays.cpp", "array.queue ? capsule_of(*array.queue) : nb::none()", "nb::none()",
              DPNP + "an_imported_array_tells_its_queue"),
        Fault("error about the queue of a table of DLPack without a name", "src/dlpack_arrays.cpp",
              "throw_named(problem, argument, queue_remedy);", "throw;", "python/test_messages.py::test_errors_about_the_queue_name_the_argument"),
        Fault("groups always skipped together", "src/scaler.cpp", ".skip_together = skip_together", ".skip_together = true",
              SCALER + "several_scales_move_on_their_own"),
        Fault("scale of another group read", "src/scaler.cpp", "scaler.get_scale(index)", "scaler.get_scale(0)",
              SCALER + "several_scales_move_on_their_own"),
        Fault("record of another group read", "src/scaler.cpp", "scaler.outcome(index)", "scaler.outcome(0)",
              SCALER + "several_scales_move_on_their_own"),
        Fault("optimizers not clipped separately", "src/scaler.cpp", "{.clip_separately = clip_separately}", "{.clip_separately = false}",
              SCALER + "a_joint_step_clips_by_one_norm_or_by_one_per_optimizer"),
        Fault("scales drawn as one line", "syclamp/_plot.py", "if record.scale_index == index", "", LEDGER + "plot_of_several_scales"),
        Fault("scales written with one tag", "syclamp/tensorboard.py", "tag=tag + suffix", "tag=tag", LEDGER + "tensorboard_with_several_scales"),
        Fault("dictionaries paired by position", "syclamp/_arguments.py", "return {key: by_name[key] for key in keys}", "return arrays",
              "python/test_operations.py::test_dictionaries_are_paired_by_key"),
        Fault("gradients paired by position", "syclamp/optimizer.py", 'in_order(group["gradients"], keys, "gradients", "weights")',
              'group["gradients"]', "python/test_optimizers.py::test_dictionaries_are_paired_by_key"),
    ],
    "torch": [
        Fault("loaded scale not read again", "syclamp/torch/_grad_scaler.py", "self._native, self._snapshot = native, None\n            self._forget_numbers()",
              "self._native, self._snapshot = native, None", "torch/test_scaler_state.py::test_a_loaded_scale_is_used_at_once"),
        Fault("failed load changes the scaler", "syclamp/torch/_grad_scaler.py", "        native = self._make_native(scale, rule, tracker, snapshot)",
              "        self._growth_factor = growth\n        native = self._make_native(scale, rule, tracker, snapshot)",
              "torch/test_scaler_state.py::test_a_load_that_fails_changes_nothing"),
        Fault("skip of PyTorch's protocol not told", "syclamp/torch/_grad_scaler.py", "optimizer._skip_step()  # PyTorch has not called the optimizer",
              "pass", "torch/test_schedules.py::test_a_schedule_advances_on_applied_steps_only"),
        Fault("schedule follows the last step", "syclamp/torch/_schedule.py", "self.optimizer._applied_count != self._applied_count",
              "self.optimizer.last_step_was_applied()", "torch/test_schedules.py::test_a_schedule_may_be_called_for_every_micro_batch"),
        Fault("GIL not released by a step", "src/torch_optimizer.cpp", "const nb::gil_scoped_release unlocked;", "",
              "torch/test_protocol.py::test_other_threads_run_while_a_step_waits"),
        Fault("OpenMP threads released in a forked child", "src/torch_threads.cpp", " || getpid() != loading_process", "",
              "torch/test_protocol.py::test_a_forked_process_is_told_what_to_do"),
        Fault("master of a parameter that moved not renewed", "syclamp/torch/_state.py", 'renewed(existing, p) if name == "master" else existing',
              "existing", "torch/test_parameters.py::test_a_weight_that_moved_and_changed_is_not_lost"),
        Fault("master of a parameter that moved forgets its bits", "syclamp/torch/_state.py", "return torch.where(p.detach() == master.to(p.dtype), master, p.detach().float())",
              "return p.detach().float()", "torch/test_parameters.py::test_a_weight_that_moved_and_changed_is_not_lost"),
        Fault("exchanged parameters not noticed", "src/torch_step.cpp",
              "if (PyList_GetItem(first.ptr(), i) != PyList_GetItem(second.ptr(), i)) return false;", ";",
              "torch/test_parameters.py::test_parameters_that_are_exchanged_by_hand_are_noticed"),
        Fault("lazy negation of gradients ignored", "src/torch_optimizer.cpp", "!reader_.is_negated(gradient, holder)", "true",
              "torch/test_tensors.py::test_every_view_is_a_gradient"),
        Fault("order of the backward pass not followed", "syclamp/torch/_optimizer.py", "trained.reverse()", "pass",
              "torch/test_grad_scaler.py::test_a_record_names_the_first_overflow_of_the_backward_pass"),
        Fault("state forgotten before the first scale", "syclamp/torch/_grad_scaler.py", 'state["syclamp"] = self._snapshot', "pass",
              "torch/test_scaler_state.py::test_a_loaded_state_can_be_saved_before_the_first_scale"),
        Fault("old state saved", "syclamp/torch/_grad_scaler.py", 'state["_snapshot"] = self._native.snapshot()',
              'state["_snapshot"] = self._snapshot = self._native.snapshot()',
              "torch/test_scaler_state.py::test_pickling_leaves_no_old_state_behind"),
    ],
}


def plant(fault, file):
    text = file.read_text()
    if fault.text not in text:
        raise SystemExit(f'planted_faults: "{fault.name}": {fault.file} does not contain {fault.text!r}')
    file.write_text(text.replace(fault.text, fault.replacement))


def build_module(fault, build, folder):
    """Compiles the sources with the fault, and links them with the other objects of the build folder."""
    original, copy = ROOT / "bindings/python/src", folder / "src"
    shutil.copytree(original, copy)
    plant(fault, folder / fault.file)
    objects = {}
    for source in fault.sources or (pathlib.Path(fault.file).name,):
        (entry,) = (entry for entry in json.loads((build / "compile_commands.json").read_text()) if entry["file"] == str(original / source))
        arguments = [argument.replace(str(original), str(copy)) for argument in shlex.split(entry["command"])]
        made = arguments.index("-o") + 1
        objects[arguments[made]] = arguments[made] = str(folder / f"{source}.o")
        subprocess.run([*arguments, "-w", "-O0"], cwd=entry["directory"], check=True)  # a fault may leave a parameter unused
    (module,) = (build / "python/syclamp").glob("_core.*so")
    name = str(module.relative_to(build))
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", name], check=True, capture_output=True, text=True).stdout
    (link,) = (line for line in commands.splitlines() if f"-o {name}" in line)
    for object_file, replacement in {**objects, name: str(folder / module.name)}.items():
        link = link.replace(object_file, replacement)
    subprocess.run(link, shell=True, cwd=build, check=True)
    return folder / module.name


def make_package(fault, build, folder):
    """A package like that of the build folder, but with the fault."""
    package = folder / "python/syclamp"
    package.mkdir(parents=True)
    module = build_module(fault, build, folder) if fault.file.startswith("src/") else None
    for file in (build / "python/syclamp").iterdir():
        if file.is_dir() and file.name != "__pycache__":
            shutil.copytree(file, package / file.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif module is not None and file.name == module.name:
            shutil.move(module, package / module.name)
        elif not file.is_dir():
            shutil.copy(file, package / file.name)  # a fault would follow a symbolic link to the checkout
    if module is None:
        plant(fault, package.parent / fault.file)
    return package.parent


def outcome(fault, package):
    """How the test fails; nothing if it does not."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", ROOT / "tests" / fault.test]
    process = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(package)}, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
    if process.returncode in (0, 1):
        return "a failed check" if process.returncode == 1 else None
    if process.returncode < 0:
        return "a crash"
    raise SystemExit(f'planted_faults: "{fault.name}": {process.stdout}')


def main():
    build, group, names = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    faults = [fault for fault in FAULTS[group] if not names or fault.name in names]
    missed = []

    def try_fault(fault):
        with tempfile.TemporaryDirectory() as folder:
            return fault, outcome(fault, make_package(fault, build, pathlib.Path(folder)))

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for fault, found in pool.map(try_fault, faults):
            print(f"{'MISSED' if found is None else 'found '}  {fault.name}: {found or 'the test passed'}", flush=True)
            if found is None:
                missed.append(fault.name)
    if missed or not faults:
        raise SystemExit(f"planted_faults: {len(missed)} of {len(faults)} faults were not found")


if __name__ == "__main__":
    main()
