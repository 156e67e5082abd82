#!/usr/bin/python3
"""Runs the samplers and pruners of Optuna on the recorded curves with a budget of training units.

Usage: tests/bench/search/optuna_table_peer.py CURVES.csv [--seeds N] [--budgets A,B] [--peers A,B]
           prints a line `budget peer seed loss` per budget of a search: the lowest loss found
       tests/bench/search/optuna_table_peer.py CURVES.csv --check FILE
           compares with the output of `table_bench CURVES.csv --samples N` in FILE
Trials run sequentially, which is the default of Optuna. A trial validates at the rungs, of which
the last is its full length, and uses budget for the units until it ends. Requires Debian's
python3-optuna, which is not in tools/packages.txt.
"""
import argparse
import csv
import json
import math
import sys
import warnings

import optuna
from optuna.pruners import HyperbandPruner, NopPruner, SuccessiveHalvingPruner
from optuna.samplers import RandomSampler, TPESampler

DIVISOR = 4
RUNGS = (1, 4, 16, 64)


def halving():
    return SuccessiveHalvingPruner(min_resource=RUNGS[0], reduction_factor=DIVISOR)


def hyperband():
    return HyperbandPruner(min_resource=RUNGS[0], max_resource=RUNGS[-1],
                           reduction_factor=DIVISOR)


def multivariate(seed):
    # Without groups, `momentum`, which only some trials have, would be sampled independently.
    return TPESampler(seed=seed, multivariate=True, group=True)


PEERS = {
    "optuna_random": (RandomSampler, NopPruner),
    "optuna_random_halving": (RandomSampler, halving),
    "optuna_random_hyperband": (RandomSampler, hyperband),
    "optuna_tpe": (TPESampler, NopPruner),
    "optuna_tpe_halving": (TPESampler, halving),
    "optuna_tpe_hyperband": (TPESampler, hyperband),
    "optuna_tpe_mv": (multivariate, NopPruner),
    "optuna_tpe_mv_halving": (multivariate, halving),
    "optuna_tpe_mv_hyperband": (multivariate, hyperband),
}


class Curves:
    """Uses the nearest recorded configuration, with the distance of recorded_curves.h."""

    def __init__(self, path):
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        at = rows[0].index("length")
        self.names = rows[0][:at]
        self.texts, self.losses, known = [], [], {}
        for row in rows[1:]:
            key = tuple(row[:at])
            if key not in known:
                known[key] = len(self.texts)
                self.texts.append(key)
                self.losses.append({})
            self.losses[known[key]][int(row[at])] = float(row[at + 1])
        self.scales = [self._scale(column) for column in zip(*self.texts)]
        self.places = [tuple(map(self._place, self.scales, texts)) for texts in self.texts]

    @staticmethod
    def _scale(column):
        """(whether logarithmic, minimum, span); None for values that are compared for equality."""
        try:
            numbers = [float(text) for text in column if text]
        except ValueError:
            return None
        logarithmic = min(numbers) > 0 and max(numbers) / min(numbers) > 100
        if logarithmic:
            numbers = [math.log(min(numbers)), math.log(max(numbers))]
        return logarithmic, min(numbers), max(numbers) - min(numbers)

    @staticmethod
    def _place(scale, value):
        if scale is None or value == "":
            return None
        logarithmic, least, span = scale
        number = math.log(float(value)) if logarithmic else float(value)
        return (number - least) / span

    def nearest(self, point):
        values = [point.get(name, "") for name in self.names]
        places = list(map(self._place, self.scales, values))
        best, least = 0, math.inf
        for number, (texts, others) in enumerate(zip(self.texts, self.places)):
            distance = 0.0
            for text, other, value, place in zip(texts, others, values, places):
                if (text == "") != (value == ""):
                    distance += 2
                elif other is not None and place is not None:
                    distance += (other - place) * (other - place)
                else:
                    distance += 0 if text == value else 1
            if distance < least:
                best, least = number, distance
        return self.losses[best]


def suggest(trial):
    """The space of table_bench.cc."""
    point = {
        "batch_size": trial.suggest_categorical("batch_size", [16, 32, 64, 128]),
        "dropout": trial.suggest_float("dropout", 0, 0.6),
        "learning_rate": trial.suggest_float("learning_rate", 1e-4, 10**-0.5, log=True),
        "optimizer": trial.suggest_categorical("optimizer", ["adam", "sgd"]),
        "weight_decay": trial.suggest_float("weight_decay", 1e-6, 1e-2, log=True),
        "width": trial.suggest_int("width", 4, 16),
    }
    if point["optimizer"] == "sgd":
        point["momentum"] = trial.suggest_float("momentum", 0, 0.99)
    return point


def search(curves, peer, seed, budgets):
    """The lowest loss found within each budget."""
    sampler, pruner = PEERS[peer]
    # Hyperband assigns brackets by the name of the study.
    study = optuna.create_study(sampler=sampler(seed=seed), pruner=pruner(),
                                study_name=f"{peer} {seed}")
    units, best = 0, dict.fromkeys(budgets, math.inf)
    while units < max(budgets):
        trial = study.ask()
        losses = curves.nearest(suggest(trial))
        trained, state = 0, optuna.trial.TrialState.COMPLETE
        for length in RUNGS:
            units += length - trained
            trained = length
            for budget in budgets:
                if units <= budget and losses[length] < best[budget]:
                    best[budget] = losses[length]
            trial.report(losses[length], length)
            if length < RUNGS[-1] and trial.should_prune():
                state = optuna.trial.TrialState.PRUNED
                break
        failed = not math.isfinite(losses[trained])
        if state == optuna.trial.TrialState.PRUNED:
            study.tell(trial, state=state)
        elif failed:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, losses[trained], state=state)
    return best


def check(curves, path):
    """Compares both objectives; a line is `{"point": {..}, "losses": {"64": 0.5, ..}}`."""
    samples = differ = 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            sample = json.loads(line)
            losses = curves.nearest(sample["point"])
            samples += 1
            for length, loss in sample["losses"].items():
                mine = losses[int(length)]
                differ += mine != loss if loss is not None else math.isfinite(mine)
    print(f"{samples} samples, {differ} results differ")
    return 0 if samples and not differ else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("curves")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--budgets", default="1024,2048")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--check")
    arguments = parser.parse_args()
    curves = Curves(arguments.curves)
    if arguments.check:
        return check(curves, arguments.check)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    budgets = [int(budget) for budget in arguments.budgets.split(",")]
    for peer in arguments.peers.split(","):
        for seed in range(arguments.seeds):
            for budget, loss in search(curves, peer, seed, budgets).items():
                print(budget, peer, seed, repr(loss), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
