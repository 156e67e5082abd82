// Functions to minimize, with their search spaces. Values are regrets: 0 is the optimum.
#ifndef TESTS_BENCH_SEARCH_FUNCTIONS_H_
#define TESTS_BENCH_SEARCH_FUNCTIONS_H_

#include <string>
#include <vector>

#include "master/core/model/search_space.h"
#include "master/core/model/value.h"

namespace det::bench {

struct Function {
  std::string name;
  model::SearchSpace space;
  double (*regret)(const model::Hparams&);
};

// Branin, Hartmann-6, Ackley-10, Rastrigin-5 and a mixed function; optuna_peer.py has the same
// ones.
std::vector<Function> Functions();

}  // namespace det::bench

#endif  // TESTS_BENCH_SEARCH_FUNCTIONS_H_
