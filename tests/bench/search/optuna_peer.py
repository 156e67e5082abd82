#!/usr/bin/python3
"""Runs the samplers of Optuna on the functions of functions.h. Prints lines `function sampler seed
regret`.

Usage: tests/bench/search/optuna_peer.py [--seeds N] [--evaluations N] [--functions A,B]
Requires Debian's python3-optuna, which is not in tools/packages.txt.
"""
import argparse
import math

import optuna

SAMPLERS = {
    "optuna_tpe": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "optuna_tpe_mv": lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=True),
}


def floats(trial, count, low, high):
    return [trial.suggest_float(f"x{i}", low, high) for i in range(count)]


def branin(trial):
    x, y = trial.suggest_float("x0", -5, 10), trial.suggest_float("x1", 0, 15)
    b, c, t = 5.1 / (4 * math.pi**2), 5 / math.pi, 1 / (8 * math.pi)
    return (y - b * x * x + c * x - 6)**2 + 10 * (1 - t) * math.cos(x) + 10 - 0.39788735772973816


def hartmann6(trial):
    alpha = [1.0, 1.2, 3.0, 3.2]
    a = [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8],
         [17, 8, 0.05, 10, 0.1, 14]]
    p = [[0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
         [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
         [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
         [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381]]
    x = floats(trial, 6, 0, 1)
    return 3.322368011391339 - sum(
        alpha[i] * math.exp(-sum(a[i][j] * (x[j] - p[i][j])**2 for j in range(6)))
        for i in range(4))


def ackley10(trial):
    x = floats(trial, 10, -32.768, 32.768)
    n = len(x)
    return (-20 * math.exp(-0.2 * math.sqrt(sum(v * v for v in x) / n)) -
            math.exp(sum(math.cos(2 * math.pi * v) for v in x) / n) + 20 + math.e)


def rastrigin5(trial):
    x = floats(trial, 5, -5.12, 5.12)
    return 10 * len(x) + sum(v * v - 10 * math.cos(2 * math.pi * v) for v in x)


def mixed(trial):
    optimizers = ["sgd", "momentum", "rmsprop", "adam"]
    optimizer = optimizers.index(trial.suggest_categorical("optimizer", optimizers))
    activations = ["relu", "tanh", "gelu"]
    activation = activations.index(trial.suggest_categorical("activation", activations))
    layers = trial.suggest_int("layers", 1, 8)
    exponent = math.log10(trial.suggest_float("lr", 1e-5, 1, log=True))
    dropout = trial.suggest_float("dropout", 0, 0.9)
    return ([0.4, 0.2, 0.1, 0.0][optimizer] + [0.15, 0.3, 0.0][activation] +
            0.5 * (exponent - [-1.0, -1.5, -3.5, -3.0][optimizer])**2 +
            0.1 * (layers - [5, 3, 6][activation])**2 + 2 * (dropout - 0.05 * layers)**2)


FUNCTIONS = {f.__name__: f for f in (branin, hartmann6, ackley10, rastrigin5, mixed)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--evaluations", type=int, default=100)
    parser.add_argument("--functions", default=",".join(FUNCTIONS))
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    optuna.logging.disable_default_handler()
    import warnings
    warnings.simplefilter("ignore")
    for name in arguments.functions.split(","):
        for sampler, make in SAMPLERS.items():
            for seed in range(arguments.seeds):
                study = optuna.create_study(sampler=make(seed))
                study.optimize(FUNCTIONS[name], n_trials=arguments.evaluations)
                print(name, sampler, seed, repr(study.best_value), flush=True)


if __name__ == "__main__":
    main()
