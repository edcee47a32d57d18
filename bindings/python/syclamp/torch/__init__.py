# SPDX-License-Identifier: Apache-2.0
"""Optimizers and a GradScaler for PyTorch on the CPU.

A training script with mixed precision changes two lines:

    optimizer = syclamp.torch.AdamW(model.parameters(), lr=1e-3, max_norm=1.0)
    scaler = syclamp.torch.GradScaler()
"""
from ._grad_scaler import GradScaler
from ._optimizer import FusedOptimizer
from ._optimizers import LAMB, SGD, Adadelta, Adagrad, Adam, AdamW, Lion, NovoGrad, RMSprop
from ._schedule import AppliedStepSchedule

__all__ = ["Adadelta", "Adagrad", "Adam", "AdamW", "AppliedStepSchedule", "FusedOptimizer", "GradScaler", "LAMB", "Lion", "NovoGrad",
           "RMSprop", "SGD"]
