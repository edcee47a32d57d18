# SPDX-License-Identifier: Apache-2.0
"""Producers of DLPack tensors whose every field a test sets, and which count the calls of their deleter."""

import ctypes


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class ManagedVersioned(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(ManagedVersioned))
ManagedVersioned._fields_ = [
    ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", DELETER),
    ("flags", ctypes.c_uint64), ("tensor", DLTensor),
]  # fmt: skip


def _python_function(name, result, *arguments):
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


new_capsule = _python_function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
has_name = _python_function("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
get_pointer = _python_function("PyCapsule_GetPointer", ctypes.POINTER(ManagedVersioned), ctypes.c_void_p, ctypes.c_char_p)
NAME = b"dltensor_versioned"


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def destroy_capsule(capsule):
    """As the specification asks: a capsule that nobody has renamed still owns its tensor."""
    if has_name(capsule, NAME):
        managed = get_pointer(capsule, NAME)
        managed.contents.deleter(managed)


_EXPORTED = []  # a consumer calls the deleter when it likes, so everything behind an exported tensor stays


class Handmade:
    """A DLPack producer whose every field the test sets."""

    def __init__(
        self, values, major=1, device_type=1, lanes=1, flags=0, stride=None, deleter=None, context=None, code=2, bits=None,
    ):  # fmt: skip
        self.values, self.deleted = values, 0
        self.shape = (ctypes.c_int64 * 1)(values.size)
        self.strides = None if stride is None else (ctypes.c_int64 * 1)(stride)
        self.deleter = DELETER(self._delete) if deleter is None else deleter
        strides = None if stride is None else ctypes.addressof(self.strides)
        tensor = DLTensor(values.ctypes.data, device_type, 0, 1, code, bits or values.itemsize * 8, lanes, self.shape, strides, 0)
        self.managed = ManagedVersioned(major, 3, context, self.deleter, flags, tensor)

    def _delete(self, _):
        self.deleted += 1

    def __dlpack__(self, max_version=None):
        _EXPORTED.append(self)
        return new_capsule(ctypes.addressof(self.managed), NAME, ctypes.cast(destroy_capsule, ctypes.c_void_p))


EXCHANGE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.POINTER(ManagedVersioned)))


WORK_STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class ExchangeTable(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p),
        ("allocator", ctypes.c_void_p), ("from_object", EXCHANGE), ("to_object", ctypes.c_void_p),
        ("tensor_from_object", ctypes.c_void_p), ("current_work_stream", WORK_STREAM),
    ]  # fmt: skip


def exchange_type(major, stream=None, tell=None):
    """A type with a table of functions, as DLPack 1.3 describes it. The table tells `stream` as the current stream.

    :param tell: the function that tells the stream; default: one that succeeds
    """

    def from_object(producer, out):
        producer.calls += 1
        _EXPORTED.append(producer)
        out[0] = ctypes.pointer(producer.managed)
        return 0

    def current_work_stream(device_type, device_id, out):
        out[0] = stream
        return 0

    functions = EXCHANGE(from_object), tell or WORK_STREAM(current_work_stream)
    table = ExchangeTable(major, 3, None, None, functions[0], None, None, functions[1])
    capsule = new_capsule(ctypes.addressof(table), b"dlpack_exchange_api", None)
    fields = {"__dlpack_c_exchange_api__": capsule, "kept": (functions, table), "calls": 0}
    return type("WithTable", (Handmade,), fields)
