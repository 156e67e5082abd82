"""Finds the answer to a question in a text, with a small encoder similar to BERT."""

import argparse
import pathlib
import pickle
from typing import Any, NamedTuple

import bert
import net
import squad
import torch
import torch.nn.functional as F
from det import pytorch
from torch import nn

FOLDER = pathlib.Path(__file__).parent
WEIGHTS, VOCABULARY = "weights.pt", "vocabulary.txt"  # The files of a folder of weights.
TRAINING = "train.json"
WARM_UP_BATCHES = 100


def find_best_spans(
    first: torch.Tensor, last: torch.Tensor, max_words: int
) -> list[tuple[int, int]]:
    """Returns the (first, last) word of each record's best span of at most `max_words` words."""
    words = first.shape[1]
    allowed = torch.ones(words, words, dtype=torch.bool, device=first.device)
    allowed = allowed.triu().tril(max_words - 1)
    scores = first[:, :, None] + last[:, None, :]
    best = scores.masked_fill(~allowed, float("-inf")).flatten(1).argmax(1)
    return [divmod(int(index), words) for index in best]


def records(
    examples: list[squad.Example], vocabulary: squad.Vocabulary, max_words: int
) -> torch.utils.data.TensorDataset:
    """Returns a dataset of (word IDs, segments, [first, last] of the answer, example index)."""
    rows, segments, answers = [], [], []
    for example in examples:
        question = [vocabulary.begin, *vocabulary.get_ids(example.question), vocabulary.separator]
        context = [*vocabulary.get_ids(example.words), vocabulary.separator]
        rows.append(question + context)
        context_segments = squad.get_segments(example)
        segments.append([squad.QUESTION] * len(question) + [*context_segments, squad.TEXT])
        answers.append([len(question) + example.first, len(question) + example.last])
    words = max(len(row) for row in rows)
    if words > max_words:
        raise ValueError(
            f"a question and its text have {words} words: the hyperparameter longest_record is "
            f"{max_words}, but must be at least as large"
        )
    fillers = zip((rows, segments), (vocabulary.pad, squad.QUESTION))
    padded = [
        torch.tensor([row + [filler] * (words - len(row)) for row in part])
        for part, filler in fillers
    ]
    indices = torch.arange(len(rows))
    return torch.utils.data.TensorDataset(*padded, torch.tensor(answers), indices)


class InitialModel(NamedTuple):
    """The shape, vocabulary and weights with which training starts."""

    shape: net.Shape
    vocabulary: squad.Vocabulary
    split: squad.Splitter
    weights: dict[str, torch.Tensor]  # Empty: all weights are random.


def read_initial_model(context: pytorch.PyTorchTrialContext, data: pathlib.Path) -> InitialModel:
    """Reads the model that the hyperparameter `weights` names, or returns a new one."""
    weights = context.get_hparam("weights")
    folder = FOLDER / weights
    if weights and bert.is_bert_folder(folder):
        shape, pieces = bert.read_shape(folder), bert.WordPieces(folder)
        if len(pieces.vocabulary.words) > shape.words:
            raise ValueError(
                f"{folder}: vocab.txt has {len(pieces.vocabulary.words)} lines, but vocab_size in "
                f"config.json is {shape.words}: the files do not belong to the same BERT"
            )
        return InitialModel(shape, pieces.vocabulary, pieces.split, bert.read_weights(folder))
    if weights:
        vocabulary = load_vocabulary(folder)
    else:
        vocabulary = squad.Vocabulary.from_examples(squad.read_examples(data / TRAINING))
    width = context.get_hparam("width")
    shape = net.Shape(
        len(vocabulary.words),
        context.get_hparam("longest_record"),
        width,
        context.get_hparam("heads"),
        context.get_hparam("layers"),
        inner=4 * width,
    )
    loaded = load_weights(folder / WEIGHTS) if weights else {}
    return InitialModel(shape, vocabulary, squad.split_words, loaded)


def load_vocabulary(folder: pathlib.Path) -> squad.Vocabulary:
    for path in (folder / WEIGHTS, folder / VOCABULARY):
        if not path.exists():
            raise ValueError(
                f"cannot open {path}: the hyperparameter weights must name a folder with {WEIGHTS}, a "
                f"state dict, and {VOCABULARY}, a word per line, or a folder of a BERT, with "
                "config.json and vocab.txt"
            )
    return squad.Vocabulary((folder / VOCABULARY).read_text(encoding="utf-8").splitlines())


def load_weights(path: pathlib.Path) -> dict[str, torch.Tensor]:
    try:
        return dict(torch.load(path, map_location="cpu", weights_only=True))
    except pickle.UnpicklingError:
        raise ValueError(f"{path} is not a state dict of torch.save()") from None


def load_into(model: nn.Module, weights: dict[str, torch.Tensor], folder: str) -> None:
    """Loads weights into a net. The heads may be missing."""
    try:
        result = model.load_state_dict(weights, strict=False)
    except RuntimeError as error:
        raise ValueError(f"the weights in {folder} do not fit: {error}") from None
    missing = [name for name in result.missing_keys if not name.startswith("span.")]
    if missing or result.unexpected_keys:
        raise ValueError(
            f"the weights in {folder} do not fit: missing {missing}, unknown "
            f"{result.unexpected_keys}; the shape (the hyperparameters layers, width and heads, or "
            "config.json) must be the same as when they were trained"
        )


def save_weights(model: nn.Module, vocabulary: squad.Vocabulary, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), folder / WEIGHTS)
    text = "".join(word + "\n" for word in vocabulary.words)
    (folder / VOCABULARY).write_text(text, encoding="utf-8")


class SquadScores(pytorch.MetricReducer):
    """F1 and exact match in percent, over the questions of all ranks."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._scores: list[tuple[float, float]] = []

    def add(self, predicted: str, answers: list[str]) -> None:
        self._scores.append(squad.score(predicted, answers))

    def per_slot_reduce(self) -> list[tuple[float, float]]:
        return self._scores

    def cross_slot_reduce(self, per_slot_metrics: list[Any]) -> dict[str, float]:
        scores = [score for rank in per_slot_metrics for score in rank]
        f1, exact = (100 * sum(values) / len(scores) for values in zip(*scores))
        return {"f1": f1, "exact_match": exact}


class QuestionAnsweringTrial(pytorch.PyTorchTrial):
    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        self.context = context
        data = FOLDER / (context.get_data_config().get("path") or "")
        initial = read_initial_model(context, data)
        self.vocabulary = initial.vocabulary
        self.train = squad.read_examples(data / TRAINING, initial.split)
        self.validation = squad.read_examples(data / "validation.json", initial.split)
        self.max_words = context.get_hparam("longest_record")
        if self.max_words > initial.shape.max_words:
            raise ValueError(
                f"the hyperparameter longest_record is {self.max_words}; the weights have "
                f"positions for {initial.shape.max_words} words"
            )
        model = net.Net(initial.shape, initial.vocabulary)
        if initial.weights:
            load_into(model, initial.weights, context.get_hparam("weights"))
        self.net = context.wrap_model(model)
        rate = context.get_hparam("learning_rate")
        self.adam = context.wrap_optimizer(torch.optim.AdamW(model.parameters(), rate))
        steps = context.get_hparam("epochs") * len(self.train) // context.get_global_batch_size()
        # The learning rate rises linearly and then decreases linearly to zero.
        context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.LambdaLR(
                self.adam,
                lambda step: min((step + 1) / WARM_UP_BATCHES, max(0.0, 1 - step / steps)),
            ),
            pytorch.LRScheduler.StepMode.STEP_EVERY_BATCH,
        )
        self.scores = context.wrap_reducer(SquadScores(), for_training=False)

    def build_training_data_loader(self) -> pytorch.DataLoader:
        dataset = records(self.train, self.vocabulary, self.max_words)
        return pytorch.DataLoader(dataset, self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(
            records(self.validation, self.vocabulary, self.max_words), batch_size=64
        )

    def loss(self, first: torch.Tensor, last: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
        both = F.cross_entropy(first, answers[:, 0]) + F.cross_entropy(last, answers[:, 1])
        return both / 2

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> torch.Tensor:
        word_ids, segments, answers, _ = batch
        loss = self.loss(*self.net(word_ids, segments), answers)
        self.context.backward(loss)
        self.context.step_optimizer(self.adam)
        return loss

    def evaluate_batch(self, batch: Any, batch_idx: int = 0) -> dict[str, Any]:
        word_ids, segments, answers, indices = batch
        first, last = self.net(word_ids, segments)
        spans = find_best_spans(first, last, self.context.get_hparam("longest_answer"))
        for index, (begin, end) in zip(indices.tolist(), spans):
            example = self.validation[index]
            self.scores.add(squad.get_answer_text(example, begin, end), example.answers)
        return {"loss": self.loss(first, last, answers)}


def main() -> None:
    """Trains off the cluster."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--weights", default="", metavar="FOLDER", help="initial weights")
    parser.add_argument(
        "--save", type=pathlib.Path, metavar="FOLDER", help="where to save the weights"
    )
    options = parser.parse_args()
    hparams = {
        "global_batch_size": 32,
        "learning_rate": 0.002,
        "epochs": options.epochs,
        "layers": 2,
        "width": 64,
        "heads": 4,
        "longest_record": 64,
        "longest_answer": 8,
        "weights": str(pathlib.Path(options.weights).absolute()) if options.weights else "",
    }
    if options.save and bert.is_bert_folder(FOLDER / hparams["weights"]):
        parser.error("--save stores nets of this example only, but --weights names a BERT")
    with pytorch.init(hparams=hparams) as context:
        trial = QuestionAnsweringTrial(context)
        pytorch.Trainer(trial, context).fit(
            max_length=pytorch.Epoch(options.epochs), validation_period=pytorch.Epoch(1)
        )
        if options.save and context.distributed.rank == 0:
            model = getattr(trial.net, "module", trial.net)  # DistributedDataParallel wraps it.
            save_weights(model, trial.vocabulary, options.save)


if __name__ == "__main__":
    main()
