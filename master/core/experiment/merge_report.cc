#include "master/core/experiment/merge_report.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace det::experiment {
namespace {

constexpr size_t kMaxShown = 200;  // bytes of a path or value in an error

using model::Value;

bool IsEqual(const Value* a, const Value* b) {
  return a == nullptr || b == nullptr ? a == b : *a == *b;
}

// Two values that differ, and where they are in the reported ones. Null: there is no such member.
struct Difference {
  std::string path;  // such as "[2].loss"
  const Value* before = nullptr;
  const Value* now = nullptr;
};

// Enters the first member that differs; returns false if these are not two lists or two objects.
bool EnterFirst(Difference& found) {
  if (found.before == nullptr || found.now == nullptr) return false;
  const Value::List* const list = found.before->AsList();
  const Value::List* const new_list = found.now->AsList();
  if (list != nullptr && new_list != nullptr) {
    for (size_t i = 0; i < std::max(list->size(), new_list->size()); ++i) {
      const Value* const before = i < list->size() ? &(*list)[i] : nullptr;
      const Value* const now = i < new_list->size() ? &(*new_list)[i] : nullptr;
      if (IsEqual(before, now)) continue;
      found = {absl::StrCat(found.path, "[", i, "]"), before, now};
      return true;
    }
  }
  const Value::Object* const object = found.before->AsObject();
  const Value::Object* const new_object = found.now->AsObject();
  if (object == nullptr || new_object == nullptr) return false;
  for (const Value::Object* const members : {object, new_object}) {
    for (const auto& [name, unused] : *members) {
      const Value* const before = found.before->Find(name);
      const Value* const now = found.now->Find(name);
      if (IsEqual(before, now)) continue;
      found = {absl::StrCat(found.path, ".", name), before, now};
      return true;
    }
  }
  return false;
}

// Cuts a long text between characters.
std::string Cut(const std::string& text) {
  if (text.size() <= kMaxShown) return text;
  size_t cut = kMaxShown;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return absl::StrCat(text.substr(0, cut), "... (", text.size(), " bytes)");
}

std::string Show(const Value* value) { return value == nullptr ? "nothing" : Cut(value->ToJson()); }

// Describes both values of a metric that was reported twice; of long objects and lists only the
// first difference.
std::string Describe(const model::MetricReport& report, const Value& before, const Value& now) {
  Difference shown{.path = "", .before = &before, .now = &now};
  if (std::max(before.ToJson().size(), now.ToJson().size()) > kMaxShown) {
    while (EnterFirst(shown)) {
    }
  }
  const std::string where =
      shown.path.empty() ? "" : absl::StrCat("the first difference is at ", Cut(shown.path), ": ");
  return absl::StrCat(where, "trial ", report.trial.value(), " has reported ", Show(shown.before),
                      " at step ", report.steps_completed, " of group ", report.group,
                      ", and now reports ", Show(shown.now));
}

}  // namespace

absl::StatusOr<model::Value> MergeReport(model::MetricReport& stored,
                                         const model::MetricReport& report) {
  model::Value::Object added;
  if (const auto* metrics = report.metrics.AsObject()) {
    for (const auto& [name, value] : *metrics) {
      const model::Value* before = stored.metrics.Find(name);
      if (before == nullptr) {
        added.emplace(name, value);
      } else if (*before != value) {
        return absl::InvalidArgumentError(absl::StrCat(
            "overwriting existing metric keys is not supported, conflicting key: ", name, ": ",
            Describe(report, *before, value)));
      }
    }
  }
  if (stored.batch_metrics.is_null()) {
    stored.batch_metrics = report.batch_metrics;
  } else if (!report.batch_metrics.is_null() && report.batch_metrics != stored.batch_metrics) {
    return absl::InvalidArgumentError(
        absl::StrCat("overwriting existing batch metrics is not supported: ",
                     Describe(report, stored.batch_metrics, report.batch_metrics)));
  }
  if (!added.empty()) {
    if (stored.metrics.AsObject() == nullptr) stored.metrics = model::Value::Object();
    stored.metrics.MutableObject()->insert(added.begin(), added.end());
  }
  return added;
}

}  // namespace det::experiment
