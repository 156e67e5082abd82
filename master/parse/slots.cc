// Reading of {min: 2, max: 8}, the bounds of an elastic trial.
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "master/parse/read.h"

namespace det::model {
namespace {

constexpr int64_t kMaxSlots = 2147483647;

class ElasticReader {
 public:
  ElasticReader(const ConfigNode& node, const std::string& path, std::vector<Problem>& problems)
      : node_(node), path_(path), problems_(problems), before_(problems.size()) {}

  void Read(ResourcesConfig& resources) {
    for (const ConfigMember& member : node_.members) {
      if (member.key == "min" || member.key == "max") continue;
      Add(member.where, member.key,
          absl::StrCat("unknown field; ", Suggest(ExperimentFields(), member.key, {"min", "max"})));
    }
    const int64_t min = Bound("min", 1);
    const int64_t max = Bound("max", min);
    const ConfigNode* last = node_.Find("max");
    if (problems_.size() > before_) return;
    if (last == nullptr) {
      problems_.push_back(
          {node_.where, path_,
           absl::StrCat("max, the maximum number of slots, is missing; use {min: ", min,
                        ", max: ", min * 4, "}, or ", min, " for a fixed number")});
    } else if (max < min) {
      Add(last->where, "max", absl::StrCat(max, " is less than min ", min));
    } else {
      resources.slots_per_trial = static_cast<int>(min);
      resources.max_slots_per_trial = max == min ? 0 : static_cast<int>(max);
      resources.slot_fraction = 1;
    }
  }

 private:
  void Add(const std::string& where, std::string_view key, std::string text) {
    problems_.push_back({where, absl::StrCat(path_, ".", std::string(key)), std::move(text)});
  }

  int64_t Bound(std::string_view key, int64_t otherwise) {
    const ConfigNode* node = node_.Find(key);
    if (node == nullptr) return otherwise;
    const std::optional<double> number = node->scalar.AsNumber();
    if (number && std::floor(*number) == *number && *number >= 1 && *number <= kMaxSlots) {
      return static_cast<int64_t>(*number);
    }
    Add(node->where, key, absl::StrCat("expected an integer >= 1, found ", node->Describe()));
    return otherwise;
  }

  const ConfigNode& node_;
  const std::string& path_;
  std::vector<Problem>& problems_;
  const size_t before_;
};

}  // namespace

void ReadElasticSlots(const ConfigNode& node, const std::string& path, ResourcesConfig& resources,
                      std::vector<Problem>& problems) {
  ElasticReader(node, path, problems).Read(resources);
}

}  // namespace det::model
