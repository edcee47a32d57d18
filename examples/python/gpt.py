# SPDX-License-Identifier: Apache-2.0
"""A small GPT on bytes, and the text it learns: the language reference that comes with Python."""
from pydoc_data.topics import topics

import torch
from torch import Tensor, nn
from torch.nn import functional

CONTEXT = 64  # bytes that a prediction may look at
BATCH = 2  # sequences per step


class Block(nn.Module):
    """Attention and a feed-forward network, each with a residual connection."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.expand, self.reduce = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.project(y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.reduce(functional.gelu(self.expand(self.norm2(x))))


class GPT(nn.Module):
    """Predicts the next byte. The default has 2.5 million parameters."""

    def __init__(self, layers: int = 3, width: int = 256, heads: int = 4) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(256, width), nn.Embedding(CONTEXT, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 256)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, text: Tensor) -> Tensor:
        x = self.tokens(text) + self.positions.weight[: text.shape[1]]
        return self.head(self.norm(self.blocks(x)))


class Text:
    """The topics of Python's `help()`. The last tenth is held out."""

    def __init__(self) -> None:
        data = torch.frombuffer(bytearray("\n".join(topics.values()).encode()), dtype=torch.uint8).long()
        cut = len(data) * 9 // 10
        self.training, self.held_out = data[:cut], data[cut:]

    def batch(self, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Random sequences of the training text, and the bytes that follow each of their bytes."""
        starts = torch.randint(len(self.training) - CONTEXT - 1, (BATCH,), generator=generator)
        rows = torch.stack([self.training[start : start + CONTEXT + 1] for start in starts.tolist()])
        return rows[:, :-1], rows[:, 1:]

    def held_out_batches(self, count: int) -> list[tuple[Tensor, Tensor]]:
        """The first `count` sequences of the held-out text, 16 at a time."""
        rows = self.held_out[: count * (CONTEXT + 1)].view(-1, CONTEXT + 1)
        return [(part[:, :-1], part[:, 1:]) for part in rows.split(16)]


def loss_of(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy per byte."""
    return functional.cross_entropy(model(inputs).flatten(0, 1).float(), targets.flatten())
