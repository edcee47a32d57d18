# SPDX-License-Identifier: Apache-2.0
"""Imports PyTorch and says which one it is."""
import sys
import warnings


def import_torch():
    """The module, or None with a message if this Python has none."""
    warnings.filterwarnings("ignore", message=".*NumPy")
    try:
        import torch
    except ImportError as reason:
        print(f"this Python has no PyTorch ({reason}); tests/torch/README.md says how to install it", file=sys.stderr)
        return None
    print("PyTorch", torch.__version__)
    return torch
