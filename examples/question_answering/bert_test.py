#!/usr/bin/env -S python3 -B
"""Tests reading of BERT models in the format of Hugging Face.

The net must compute the formulas of the BERT paper, and text must be split as by BERT's tokenizer.
"""

import contextlib
import io
import json
import math
import os
import pathlib
import re
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(sys.argv[0]))
sys.path[:0] = [HERE, os.path.join(HERE, "../../trial_api/python/package")]
import bert
import model_def
import net
import squad
import torch
from det import pytorch
from torch.nn import functional as F

WIDTH, HEADS, LAYERS, INNER, POSITIONS, EPSILON = 12, 3, 2, 20, 64, 1e-12
# [PAD] must have the ID 0; the others may have any ID.
SPECIAL_TOKENS = [
    "[PAD]",
    "[unused0]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
PIECES = ["want", "##want", "##ed", "wa", "un", "runn", "##ing", ",", "low", "lowest", "中", "$"]
WORDS = [*SPECIAL_TOKENS, *PIECES, "?", ".", "-", *LETTERS, *("##" + letter for letter in LETTERS)]
CONFIG = {
    "architectures": ["BertForQuestionAnswering"],
    "hidden_act": "gelu",
    "hidden_size": WIDTH,
    "intermediate_size": INNER,
    "layer_norm_eps": EPSILON,
    "max_position_embeddings": POSITIONS,
    "model_type": "bert",
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "type_vocab_size": 2,
    "vocab_size": len(WORDS),
}


def make_tensors():
    """Returns tensors with the names of Hugging Face's BertForQuestionAnswering."""
    shapes = {
        "embeddings.word_embeddings": (len(WORDS), WIDTH),
        "embeddings.position_embeddings": (POSITIONS, WIDTH),
        "embeddings.token_type_embeddings": (2, WIDTH),
        "embeddings.LayerNorm": (WIDTH,),
    }
    for layer in range(LAYERS):
        part = f"encoder.layer.{layer}."
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            shapes[f"{part}attention.{name}"] = (WIDTH, WIDTH)
        shapes[f"{part}attention.output.LayerNorm"] = shapes[f"{part}output.LayerNorm"] = (WIDTH,)
        shapes[f"{part}intermediate.dense"] = (INNER, WIDTH)
        shapes[f"{part}output.dense"] = (WIDTH, INNER)
    torch.manual_seed(3)
    weights = {"qa_outputs.weight": torch.randn(2, WIDTH), "qa_outputs.bias": torch.randn(2)}
    for name, shape in shapes.items():
        weights[f"bert.{name}.weight"] = torch.randn(shape)
        if "_embeddings" not in name:
            weights[f"bert.{name}.bias"] = torch.randn(shape[0])
    return weights


def compute_scores(weights, word_ids, types):
    """Returns the scores [words, 2] of one record without padding, with the formulas of the paper."""

    def linear(x, name):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def norm(x, name):
        centred = x - x.mean(-1, keepdim=True)
        scale = (centred.pow(2).mean(-1, keepdim=True) + EPSILON).rsqrt()
        return centred * scale * weights[name + ".weight"] + weights[name + ".bias"]

    begin = "bert.embeddings."
    x = weights[begin + "word_embeddings.weight"][word_ids]
    x = x + weights[begin + "position_embeddings.weight"][: len(word_ids)]
    x = norm(x + weights[begin + "token_type_embeddings.weight"][types], begin + "LayerNorm")
    for layer in range(LAYERS):
        part, size = f"bert.encoder.layer.{layer}.", WIDTH // HEADS
        query, key, value = (
            linear(x, f"{part}attention.self.{name}").split(size, 1)
            for name in ("query", "key", "value")
        )
        heads = [
            torch.softmax(q @ k.T / math.sqrt(size), 1) @ v for q, k, v in zip(query, key, value)
        ]
        x = norm(
            x + linear(torch.cat(heads, 1), part + "attention.output.dense"),
            part + "attention.output.LayerNorm",
        )
        inner = F.gelu(linear(x, part + "intermediate.dense"))
        x = norm(x + linear(inner, part + "output.dense"), part + "output.LayerNorm")
    return linear(x, "qa_outputs")


def write_safetensors(path, weights):
    entries, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in weights.items():
        added = tensor.contiguous().numpy().tobytes()
        entries[name] = {
            "dtype": "F32",
            "shape": list(tensor.shape),
            "data_offsets": [len(data), len(data) + len(added)],
        }
        data += added
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


class BertTestCase(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.folder = pathlib.Path(home.name)
        self.write("config.json", CONFIG)
        (self.folder / "vocab.txt").write_text("".join(w + "\n" for w in WORDS), encoding="utf-8")

    def write(self, name, value):
        (self.folder / name).write_text(json.dumps(value), encoding="utf-8")

    def model(self):
        model = net.Net(bert.read_shape(self.folder), bert.WordPieces(self.folder).vocabulary)
        model_def.load_into(model, bert.read_weights(self.folder), str(self.folder))
        return model


class WeightsTest(BertTestCase):
    def assert_same(self, model, weights):
        word_ids = torch.tensor([[3, 20, 21, 4, 30, 31, 4], [3, 40, 4, 41, 4, 0, 0]])
        segments = torch.tensor([[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0]])
        expected = compute_scores(weights, word_ids[0], segments[0])
        padded = compute_scores(weights, word_ids[1][:5], segments[1][:5])
        for train in (True, False):  # torch computes differently in the two modes.
            model.train(train)
            with torch.no_grad():
                both = torch.stack(model(word_ids, segments), 2)
            torch.testing.assert_close(both[0, 4:6], expected[4:6], rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(both[1, 3:4], padded[3:4], rtol=1e-4, atol=1e-4)
            # Only words of the text can be answers.
            self.assertTrue((both[0, [0, 1, 2, 3, 6]] < -1e8).all())

    def test_loads_the_saved_net_from_safetensors_and_torch_files(self):
        weights = make_tensors()
        write_safetensors(self.folder / "model.safetensors", weights)
        self.assert_same(self.model(), weights)
        (self.folder / "model.safetensors").unlink()
        torch.save(weights, self.folder / "pytorch_model.bin")
        self.assert_same(self.model(), weights)

    def test_loads_an_encoder_without_heads_and_older_names(self):
        weights = make_tensors()
        older = {
            "embeddings.position_ids": torch.arange(POSITIONS)[None],
            "pooler.dense.weight": torch.zeros(WIDTH, WIDTH),
            "cls.predictions.bias": torch.zeros(len(WORDS)),
        }
        for name, tensor in weights.items():
            if name.startswith("bert."):
                name = name[5:].replace("LayerNorm.weight", "LayerNorm.gamma")
                older[name.replace("LayerNorm.bias", "LayerNorm.beta")] = tensor.half().float()
        torch.save(older, self.folder / "pytorch_model.bin")
        model = self.model()
        span = {"qa_outputs." + name: t for name, t in model.span.state_dict().items()}
        rounded = {name: tensor.half().float() for name, tensor in weights.items()}
        self.assert_same(model, {**rounded, **span})

    def test_initializes_the_segment_of_repeated_words_from_that_of_the_text(self):
        weights = make_tensors()
        torch.save(weights, self.folder / "pytorch_model.bin")
        segments = self.model().encoder.segment.weight
        self.assertTrue(torch.equal(segments[squad.REPEATED], segments[squad.TEXT]))

    def test_errors_name_the_file_and_field(self):
        with self.assertRaisesRegex(ValueError, "neither model.safetensors nor pytorch_model.bin"):
            self.model()
        for damaged in (b"", b"not a file of weights", b"PK\x03\x04 truncated"):
            (self.folder / "pytorch_model.bin").write_bytes(damaged)
            with self.assertRaisesRegex(
                ValueError, "pytorch_model.bin is not a complete file of torch"
            ):
                self.model()
        weights = make_tensors()
        del weights["bert.encoder.layer.1.output.dense.bias"]
        torch.save(weights, self.folder / "pytorch_model.bin")
        with self.assertRaisesRegex(ValueError, r"missing \['encoder.layers.layers.1.linear2.bias"):
            self.model()
        torch.save(make_tensors(), self.folder / "pytorch_model.bin")
        self.write("config.json", {**CONFIG, "intermediate_size": 24})
        with self.assertRaisesRegex(ValueError, f"the weights in {self.folder} do not fit: "):
            self.model()
        for field, value in (
            ("model_type", "roberta"),
            ("hidden_act", "swish"),
            ("position_embedding_type", "relative_key"),
        ):
            self.write("config.json", {**CONFIG, field: value})
            with self.assertRaisesRegex(ValueError, f"config.json has model_type .*{value}"):
                self.model()
        self.write("config.json", {n: v for n, v in CONFIG.items() if n != "hidden_size"})
        with self.assertRaisesRegex(ValueError, "config.json lacks 'hidden_size'"):
            self.model()
        (self.folder / "config.json").write_text("{bad", encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "config.json is not a JSON object: "):
            self.model()


class WordPiecesTest(BertTestCase):
    def pieces(self, text):
        return [piece.text for piece in bert.WordPieces(self.folder).split(text)]

    def test_splits_into_longest_pieces_in_lower_case_without_accents(self):
        self.assertEqual(
            ["un", "##want", "##ed", ",", "runn", "##ing"], self.pieces("UNwantéd,running")
        )
        self.assertEqual(
            ["lowest", "$", "5", "中", "中", "-"], self.pieces("Lowest\n$5 中中\u200b-")
        )

    def test_maps_word_without_pieces_to_unknown(self):
        vocabulary = bert.WordPieces(self.folder).vocabulary
        for word in ("wantö!ß", "a" * 101):
            pieces = bert.WordPieces(self.folder).split(f"un {word} un")
            word_ids = vocabulary.get_ids(pieces)
            self.assertIn(vocabulary.unknown, word_ids[1:-1], word)
            self.assertEqual([WORDS.index("un")] * 2, [word_ids[0], word_ids[-1]])

    def test_keeps_case_when_the_tokenizer_does(self):
        self.write("tokenizer_config.json", {"do_lower_case": False})
        vocabulary = bert.WordPieces(self.folder).vocabulary
        word_ids = vocabulary.get_ids(bert.WordPieces(self.folder).split("un Un"))
        self.assertEqual([WORDS.index("un"), vocabulary.unknown], word_ids)

    def test_finds_an_answer_within_words(self):
        context = "Ann WANTéd 5 lowing cats."
        answers = [{"text": "WANTéd 5", "answer_start": 4}]
        paragraph = {"context": context, "qas": [{"id": "1", "question": "?", "answers": answers}]}
        self.write("data.json", {"data": [{"paragraphs": [paragraph]}]})
        split = bert.WordPieces(self.folder).split
        (example,) = squad.read_examples(self.folder / "data.json", split)
        words = [word.text for word in example.words[example.first : example.last + 1]]
        self.assertEqual(["want", "##ed", "5"], words)
        before = len(example.question) + 2
        found = squad.get_answer_text(example, before + example.first, before + example.last)
        self.assertEqual("WANTéd 5", found)

    def test_rejects_folder_without_vocabulary(self):
        (self.folder / "vocab.txt").unlink()
        with self.assertRaisesRegex(ValueError, "has no vocab.txt"):
            bert.WordPieces(self.folder)


class TrialTest(BertTestCase):
    """Trains off the cluster."""

    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)  # The checkpoints are stored there.

    def init(self, **overrides):
        hparams = {
            "global_batch_size": 8,
            "learning_rate": 0.01,
            "epochs": 50,
            "layers": 9,
            "width": 7,
            "heads": 5,
            "longest_record": 64,
            "longest_answer": 8,
            "weights": str(self.folder),
            **overrides,
        }
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        paragraph = {
            "context": "un want $5, low",
            "qas": [
                {"id": "1", "question": "want $?", "answers": [{"text": "$5", "answer_start": 8}]}
            ],
        }
        for name in ("train.json", "validation.json"):
            text = json.dumps({"data": [{"paragraphs": [paragraph] * 16}]})
            (data / name).write_text(text, encoding="utf-8")
        config = {"data": {"path": str(data)}}
        return pytorch.init(hparams=hparams, exp_conf=config)

    def test_trains_from_a_bert_and_finds_the_answer(self):
        torch.save(make_tensors(), self.folder / "pytorch_model.bin")
        with self.init() as context:
            trial = model_def.QuestionAnsweringTrial(context)
            self.assertEqual(LAYERS, len(trial.net.encoder.layers.layers))
            self.assertEqual(WIDTH, trial.net.encoder.word.weight.shape[1])
            before = trial.net.encoder.word.weight.detach().clone()
            with contextlib.redirect_stdout(io.StringIO()) as output:
                pytorch.Trainer(trial, context).fit(max_length=pytorch.Batch(60))
            self.assertFalse(torch.equal(before, trial.net.encoder.word.weight))
        last = re.findall(r"^validation steps=60 (.*)$", output.getvalue(), re.MULTILINE)
        self.assertEqual(100, json.loads(last[-1])["f1"], last)

    def test_rejects_vocabulary_of_another_bert(self):
        torch.save(make_tensors(), self.folder / "pytorch_model.bin")
        with (self.folder / "vocab.txt").open("a", encoding="utf-8") as file:
            file.write("more\n")
        with self.init() as context:
            with self.assertRaisesRegex(
                ValueError, "vocab.txt has .* do not belong to the same BERT"
            ):
                model_def.QuestionAnsweringTrial(context)

    def test_rejects_records_longer_than_the_positions(self):
        torch.save(make_tensors(), self.folder / "pytorch_model.bin")
        with self.init(longest_record=65) as context:
            with self.assertRaisesRegex(ValueError, "longest_record is 65; .* positions for 64"):
                model_def.QuestionAnsweringTrial(context)


if __name__ == "__main__":
    unittest.main()
