"""A small encoder similar to BERT, and scores of each word as the first or last of the answer."""

from typing import NamedTuple

import squad
import torch
from torch import nn

SEGMENTS = 3  # squad.QUESTION, TEXT, REPEATED


class Shape(NamedTuple):
    """The shape of an encoder."""

    words: int  # The size of the vocabulary.
    max_words: int  # The maximum number of words of a record.
    width: int
    heads: int
    layers: int
    inner: int  # The width within a layer.
    activation: str = "gelu"
    # True: the input of each part of a layer is normalized, which trains well from scratch. False:
    # the output is, as in BERT.
    norm_first: bool = True
    epsilon: float = 1e-5


class Encoder(nn.Module):
    """Encodes words. Maps their IDs and segments, [records, words], to [records, words, width]."""

    def __init__(self, shape: Shape, pad: int) -> None:
        super().__init__()
        width = shape.width
        self.pad = pad
        self.word = nn.Embedding(shape.words, width)
        self.position = nn.Embedding(shape.max_words, width)
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
        # Position embeddings are learned. Sine waves as initial values help to learn relative
        # positions early.
        frequencies = 200 ** -(torch.arange(0, width, 2) / width)
        angles = torch.arange(shape.max_words)[:, None] * frequencies
        waves = torch.cat([angles.sin(), angles.cos()], dim=1) * (2 / width) ** 0.5
        self.position.weight.data.copy_(waves)

    def forward(self, word_ids: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(word_ids.shape[1], device=word_ids.device)
        x = self.first_norm(self.word(word_ids) + self.position(positions) + self.segment(segments))
        encoded: torch.Tensor = self.layers(x, src_key_padding_mask=word_ids == self.pad)
        return encoded


class Net(nn.Module):
    """Scores each word as the first and as the last word of the answer.

    forward() returns both scores, each of shape [records, words].
    """

    def __init__(self, shape: Shape, vocabulary: squad.Vocabulary) -> None:
        super().__init__()
        self.separator = vocabulary.separator
        self.encoder = Encoder(shape, vocabulary.pad)
        self.span = nn.Linear(shape.width, 2)

    def forward(
        self, word_ids: torch.Tensor, segments: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        is_context = (segments != squad.QUESTION) & (word_ids != self.separator)
        scores = self.span(self.encoder(word_ids, segments))
        first, last = scores.masked_fill(~is_context[:, :, None], -1e9).unbind(2)
        return first, last
