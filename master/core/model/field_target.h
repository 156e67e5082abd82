// The types that a field of a configuration can have, as the place that it fills.
//
// PURE.
#ifndef MASTER_CORE_MODEL_FIELD_TARGET_H_
#define MASTER_CORE_MODEL_FIELD_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "master/core/model/experiment_config.h"

namespace det::model {

// "NAME=value", or "NAME" for an empty one.
struct VariablesTarget {
  std::vector<std::string>* variables;
};
// Bytes, or text such as "4g".
struct SizeTarget {
  void* at;
  std::optional<int64_t> (*get)(const void* at);
  void (*set)(void* at, int64_t bytes);
};
// Seconds, or text such as "1d12h".
struct DurationTarget {
  void* at;
  std::optional<double> (*get)(const void* at);
  void (*set)(void* at, double seconds);
};
// An integer, a part of one device, or {min, max}.
struct SlotsTarget {
  ResourcesConfig* resources;
};
// A name, or a list of names and of {name, smaller_is_better}.
struct MetricTarget {
  SearcherConfig* searcher;
};
// An enumerator, as its place among the field's choices; -1 where there is none.
struct ChoiceTarget {
  void* at;
  int (*get)(const void* at);
  void (*set)(void* at, int index);
};
struct ListTarget {
  void* list;
  size_t (*size)(const void* list);
  void (*resize)(void* list, size_t size);
};

using FieldTarget =
    std::variant<std::monostate, bool*, int*, int64_t*, uint32_t*, double*, std::string*,
                 std::optional<int>*, std::optional<int64_t>*, std::optional<double>*,
                 std::vector<std::string>*, std::vector<int64_t>*,
                 std::vector<std::vector<int64_t>>*, std::map<std::string, int64_t>*, Length*,
                 std::optional<Length>*, Value*, Entrypoint*, SearchSpace*, VariablesTarget,
                 SizeTarget, DurationTarget, SlotsTarget, MetricTarget, ChoiceTarget, ListTarget>;

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_FIELD_TARGET_H_
