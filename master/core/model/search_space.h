// What a searcher may choose from: one Hyperparameter per name, nested as in the configuration.
// Facts of the format: integers include both bounds; a `log` is base^x with x in [min, max].
//
// A hyperparameter with conditions is present only where all of them hold:
//   momentum: {type: double, minval: 0, maxval: 1, when: {optimizer: sgd}}
//   width_3: {type: int, minval: 8, maxval: 64, when: {layers: {minval: 3}}}
//
// PURE.
#ifndef MASTER_CORE_MODEL_SEARCH_SPACE_H_
#define MASTER_CORE_MODEL_SEARCH_SPACE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "master/core/model/value.h"

namespace det::model {

struct ConstHparam {
  Value val;
  friend bool operator==(const ConstHparam&, const ConstHparam&) = default;
};
struct IntHparam {
  int64_t minval = 0;
  int64_t maxval = 0;
  std::optional<int64_t> count;  // points on a grid
  friend bool operator==(const IntHparam&, const IntHparam&) = default;
};
struct DoubleHparam {
  double minval = 0;
  double maxval = 0;
  std::optional<int64_t> count;
  friend bool operator==(const DoubleHparam&, const DoubleHparam&) = default;
};
struct LogHparam {
  double base = 10;
  double minval = 0;  // exponents
  double maxval = 0;
  std::optional<int64_t> count;
  friend bool operator==(const LogHparam&, const LogHparam&) = default;
};
struct CategoricalHparam {
  std::vector<Value> vals;
  friend bool operator==(const CategoricalHparam&, const CategoricalHparam&) = default;
};

struct Hyperparameter;
using SearchSpace = std::map<std::string, Hyperparameter>;
struct NestedHparam {
  SearchSpace members;
  friend bool operator==(const NestedHparam&, const NestedHparam&);
};

// Holds where the hyperparameter at `path` is present and its value is one of `any_of`, or a number
// between the bounds, both included.
struct Condition {
  std::string path;  // "optimizer.name", from the root of the space
  std::vector<Value> any_of;
  std::optional<double> minval;
  std::optional<double> maxval;
  friend bool operator==(const Condition&, const Condition&) = default;
};

struct Hyperparameter {
  std::variant<ConstHparam, IntHparam, DoubleHparam, LogHparam, CategoricalHparam, NestedHparam>
      kind;
  std::vector<Condition> when = {};  // empty: always present
  friend bool operator==(const Hyperparameter&, const Hyperparameter&) = default;
};
inline bool operator==(const NestedHparam& a, const NestedHparam& b) {
  return a.members == b.members;
}

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_SEARCH_SPACE_H_
