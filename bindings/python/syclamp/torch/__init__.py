# SPDX-License-Identifier: Apache-2.0
"""Optimizers and a GradScaler for PyTorch on the CPU.

A training script with mixed precision changes two lines:

>>> import torch, syclamp.torch
>>> model = torch.nn.Linear(2, 1)
>>> optimizer = syclamp.torch.AdamW(model.parameters(), lr=1e-3, max_norm=1.0)  # was: torch.optim.AdamW
>>> scaler = syclamp.torch.GradScaler()  # was: torch.amp.GradScaler("cpu")
"""
from ._grad_scaler import GradScaler
from ._optimizer import FusedOptimizer
from ._optimizers import LAMB, SGD, Adadelta, Adagrad, Adam, AdamW, Lion, NovoGrad, RMSprop
from ._schedule import AppliedStepSchedule

__all__ = ["Adadelta", "Adagrad", "Adam", "AdamW", "AppliedStepSchedule", "FusedOptimizer", "GradScaler", "LAMB", "Lion", "NovoGrad",
           "RMSprop", "SGD"]
