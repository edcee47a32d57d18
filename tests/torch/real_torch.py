# SPDX-License-Identifier: Apache-2.0
"""Imports PyTorch without its compiler, which needs a dozen packages more and is of no use here: torch.optim asks it only to
keep its hands off some functions.
"""
import sys
import types
import warnings


def import_torch():
    """The module, or None with a message if this Python has none."""
    warnings.filterwarnings("ignore", message=".*NumPy")
    try:
        import torch
    except ImportError as reason:
        print(f"skipped: this Python has no PyTorch ({reason}); tests/torch/README.md says how to install it")
        return None
    compiler = types.ModuleType("torch._dynamo")
    compiler.disable = lambda function, recursive=True, **how: function
    compiler.graph_break = lambda *words, **how: None
    sys.modules["torch._dynamo"] = torch._dynamo = compiler
    print("PyTorch", torch.__version__)
    return torch
