# SPDX-License-Identifier: Apache-2.0
"""Mixed-precision loss scaling for every device that SYCL reaches.

Arrays of NumPy, dpnp and every library with DLPack are used in place, without copies. The package imports neither NumPy
nor torch.

>>> import array, syclamp
>>> syclamp.inspect(array.array("f", [1.0, 2.0])).amax
2.0
"""

from ._runtime import check_runtime

check_runtime()  # before the library is loaded

from ._arguments import tensors  # noqa: E402
from ._core import (  # noqa: E402
    Array,
    DeviceError,
    Error,
    FileError,
    InspectionResult,
    InvalidArgumentError,
    KernelBuildError,
    MisuseError,
    NoDeviceError,
    OutOfMemoryError,
    Policy,
    ReplayOptions,
    StepRecord,
    Tensors,
)
from ._core import version as __version__  # noqa: E402
from .checkpoint import load_checkpoint, save_checkpoint  # noqa: E402
from .engine import Device, Engine, default_engine, devices, set_default_engine, system_report  # noqa: E402
from .ledger import Ledger  # noqa: E402
from .operations import (  # noqa: E402
    Clipped,
    Inspection,
    accumulate,
    cast,
    clear,
    clip,
    clip_by_value,
    inspect,
    scale,
    unscale,
)
from .optimizer import Optimizer, Progress  # noqa: E402
from .optimizers import (  # noqa: E402
    LAMB,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    AdamW,
    Lion,
    NovoGrad,
    RMSprop,
)
from .scaler import LossScaler  # noqa: E402
from .simulation import Preset, Replay, SimulatedStep, presets, replay, simulate  # noqa: E402

# Messages and pickles name the public module.
for _error in (Error, InvalidArgumentError, MisuseError, NoDeviceError, DeviceError, FileError, OutOfMemoryError, KernelBuildError):
    _error.__module__ = "syclamp"

__all__ = [
    "LAMB", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Array", "Clipped", "Device", "DeviceError", "Engine", "Error",
    "FileError", "Inspection", "InspectionResult", "InvalidArgumentError", "KernelBuildError", "Ledger", "Lion",
    "LossScaler", "MisuseError", "NoDeviceError", "NovoGrad", "Optimizer", "OutOfMemoryError", "Policy", "Preset",
    "Progress", "RMSprop", "Replay", "ReplayOptions", "SimulatedStep", "StepRecord", "Tensors", "__version__",
    "accumulate", "cast", "clear", "clip", "clip_by_value", "default_engine", "devices", "inspect", "load_checkpoint",
    "presets", "replay", "save_checkpoint", "scale", "set_default_engine", "simulate", "system_report", "tensors",
    "unscale",
]  # fmt: skip
