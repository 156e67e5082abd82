"""A small encoder similar to BERT, and the scores of each word as an end of the answer."""

from typing import NamedTuple

import squad
import torch
from torch import nn

SEGMENTS = 3  # squad.QUESTION, TEXT, REPEATED


class Shape(NamedTuple):
    """The shape of an encoder."""

    words: int  # The size of the vocabulary.
    longest: int  # The maximum number of words of a record.
    width: int
    heads: int
    layers: int
    inner: int  # The width within a layer.
    activation: str = "gelu"
    # Whether each part of a layer is normalized before it, which trains well from scratch, or
    # after it, as in BERT.
    norm_first: bool = True
    epsilon: float = 1e-5


class Encoder(nn.Module):
    """Maps numbers and segments of words, [records, words], to [records, words, width]."""

    def __init__(self, shape: Shape, pad: int) -> None:
        super().__init__()
        width = shape.width
        self.pad = pad
        self.word = nn.Embedding(shape.words, width)
        self.position = nn.Embedding(shape.longest, width)
        self.segment = nn.Embedding(SEGMENTS, width)
        self.first_norm = nn.LayerNorm(width, shape.epsilon)
        # No dropout: each rank draws its own, so the result would depend on the number of slots.
        layer = nn.TransformerEncoderLayer(
            width,
            shape.heads,
            shape.inner,
            0.0,
            activation=shape.activation,
            layer_norm_eps=shape.epsilon,
            batch_first=True,
            norm_first=shape.norm_first,
        )
        last_norm = nn.LayerNorm(width, shape.epsilon) if shape.norm_first else None
        self.layers = nn.TransformerEncoder(
            layer, shape.layers, last_norm, enable_nested_tensor=False
        )
        for weight in self.parameters():
            if weight.dim() > 1:
                nn.init.normal_(weight, std=width**-0.5)
        # Learned, but initialized as sine waves, so that "two words before" is found soon.
        angles = torch.arange(shape.longest)[:, None] * 200 ** -(torch.arange(0, width, 2) / width)
        waves = torch.cat([angles.sin(), angles.cos()], dim=1) * (2 / width) ** 0.5
        self.position.weight.data.copy_(waves)

    def forward(self, numbers: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
        places = torch.arange(numbers.shape[1], device=numbers.device)
        x = self.first_norm(self.word(numbers) + self.position(places) + self.segment(segments))
        encoded: torch.Tensor = self.layers(x, src_key_padding_mask=numbers == self.pad)
        return encoded


class Net(nn.Module):
    """Returns the scores of each word as the first and as the last of the answer.

    Each is of shape [records, words].
    """

    def __init__(self, shape: Shape, vocabulary: squad.Vocabulary) -> None:
        super().__init__()
        self.separator = vocabulary.separator
        self.encoder = Encoder(shape, vocabulary.pad)
        self.span = nn.Linear(shape.width, 2)

    def forward(
        self, numbers: torch.Tensor, segments: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        of_context = (segments != squad.QUESTION) & (numbers != self.separator)
        scores = self.span(self.encoder(numbers, segments))
        first, last = scores.masked_fill(~of_context[:, :, None], -1e9).unbind(2)
        return first, last
