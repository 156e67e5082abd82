// Reads hyperparameters: a plain value is a constant, a map with a `type` is a range or a choice,
// any other map is nested. The conditions of a nested map apply to each of its members.
#include <algorithm>
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

// The state that is shared while reading a whole space.
struct Reading {
  size_t root_size = 0;  // of the path of the space, with its dot
  std::vector<WrittenCondition> conditions;
  std::vector<Problem>& problems;
};

void ReadMembers(const ConfigNode& node, const std::string& path,
                 const std::vector<WrittenCondition>& around, SearchSpace& space, Reading& reading);

class HparamReader {
 public:
  HparamReader(const ConfigNode& node, std::string path, Reading& reading)
      : node_(node), path_(std::move(path)), reading_(reading), problems_(reading.problems) {}

  // `around` are the conditions of the maps that contain the hyperparameter.
  Hyperparameter Read(const std::vector<WrittenCondition>& around) {
    std::vector<WrittenCondition> conditions = Conditions(around);
    if (node_.is_map() && Member("type") == nullptr) {
      NestedHparam nested;
      ReadMembers(node_, path_, conditions, nested.members, reading_);
      return {std::move(nested)};
    }
    Hyperparameter hparam = ReadKind();
    for (WrittenCondition& written : conditions) {
      written.owner = path_.substr(reading_.root_size);
      hparam.when.push_back(written.condition);
      reading_.conditions.push_back(std::move(written));
    }
    // Sorted as ToValue writes them.
    std::sort(hparam.when.begin(), hparam.when.end(),
              [](const Condition& a, const Condition& b) { return a.path < b.path; });
    return hparam;
  }

 private:
  Hyperparameter ReadKind() {
    if (!node_.is_map()) return {ConstHparam{node_.ToValue()}};
    const ConfigNode* type = Member("type");
    const std::string name = type->AsString() == nullptr ? "" : *type->AsString();
    if (name == "const") return ReadConst();
    if (name == "int") return ReadInt();
    if (name == "double") return ReadDouble();
    if (name == "log") return ReadLog();
    if (name == "categorical") return ReadCategorical();
    Add(*type, "type",
        absl::StrCat("expected one of const, int, double, log, categorical, found ",
                     type->Describe()));
    return {};
  }

  std::vector<WrittenCondition> Conditions(const std::vector<WrittenCondition>& around) {
    std::vector<WrittenCondition> conditions;
    const ConfigNode* when = node_.is_map() ? Member("when") : nullptr;
    if (when != nullptr) ReadConditions(*when, path_ + ".when", conditions, problems_);
    for (const WrittenCondition& outer : around) {
      for (const WrittenCondition& own : conditions) {
        if (own.condition.path != outer.condition.path) continue;
        problems_.push_back({own.where, own.path,
                             absl::StrCat("an enclosing map already has a condition on ",
                                          outer.condition.path, "; keep one")});
      }
    }
    conditions.insert(conditions.end(), around.begin(), around.end());
    return conditions;
  }

  // Returns null members as well: null is a value here.
  const ConfigNode* Member(std::string_view key) const {
    for (const ConfigMember& member : node_.members) {
      if (member.key == key) return &member.value;
    }
    return nullptr;
  }

  void Add(const ConfigNode& at, std::string_view key, std::string text) {
    problems_.push_back(
        {at.where, absl::StrCat(path_, key.empty() ? "" : ".", std::string(key)), std::move(text)});
  }

  void RefuseOthers(std::vector<std::string> known) {
    known.insert(known.begin(), "type");
    known.emplace_back("when");
    for (const ConfigMember& member : node_.members) {
      bool is_known = false;
      for (const std::string& name : known) is_known = is_known || name == member.key;
      if (is_known) continue;
      problems_.push_back(
          {member.where, absl::StrCat(path_, ".", member.key),
           absl::StrCat("unknown field; ", Suggest(ExperimentFields(), member.key, known))});
    }
  }

  int64_t Integer(std::string_view key) {
    const ConfigNode* member = Member(key);
    if (member != nullptr && member->scalar.AsInt() != nullptr) return *member->scalar.AsInt();
    AddExpected(member, key, "an integer");
    return 0;
  }

  double Number(std::string_view key, std::optional<double> absent = std::nullopt) {
    const ConfigNode* member = Member(key);
    if (member == nullptr && absent) return *absent;
    if (member != nullptr && member->scalar.AsNumber()) return *member->scalar.AsNumber();
    AddExpected(member, key, "a number");
    return 0;
  }

  std::optional<int64_t> Count() {
    const ConfigNode* member = Member("count");
    if (member == nullptr || member->is_null()) return std::nullopt;
    const int64_t* count = member->scalar.AsInt();
    if (count != nullptr && *count >= 1) return *count;
    AddExpected(member, "count", "an integer >= 1");
    return std::nullopt;
  }

  void AddExpected(const ConfigNode* member, std::string_view key, std::string_view what) {
    if (member == nullptr) {
      Add(node_, key, absl::StrCat("required but missing; expected ", std::string(what)));
    } else {
      Add(*member, key,
          absl::StrCat("expected ", std::string(what), ", found ", member->Describe()));
    }
  }

  template <class T>
  void CheckOrder(const T& range) {
    if (range.minval > range.maxval) {
      Add(node_, "",
          absl::StrCat("minval ", range.minval, " is greater than maxval ", range.maxval));
    }
  }

  // The bounds are exponents, but users also write values here, such as maxval: 1000.
  void CheckPowers(const LogHparam& h) {
    if (h.base <= 0) return;
    for (const auto& [key, exponent] : {std::pair("minval", h.minval), {"maxval", h.maxval}}) {
      if (std::isfinite(std::pow(h.base, exponent))) continue;
      Add(node_, key,
          absl::StrCat("base ", h.base, " to the power of ", exponent,
                       " is greater than every number; minval and maxval are exponents, such as -5 "
                       "and -1 for values from 1e-5 to 0.1"));
    }
  }

  Hyperparameter ReadConst() {
    RefuseOthers({"val"});
    const ConfigNode* val = Member("val");
    if (val == nullptr) AddExpected(val, "val", "a value");
    return {ConstHparam{val == nullptr ? Value() : val->ToValue()}};
  }
  Hyperparameter ReadInt() {
    RefuseOthers({"minval", "maxval", "count"});
    IntHparam h{Integer("minval"), Integer("maxval"), Count()};
    CheckOrder(h);
    return {h};
  }
  Hyperparameter ReadDouble() {
    RefuseOthers({"minval", "maxval", "count"});
    DoubleHparam h{Number("minval"), Number("maxval"), Count()};
    CheckOrder(h);
    return {h};
  }
  Hyperparameter ReadLog() {
    RefuseOthers({"base", "minval", "maxval", "count"});
    LogHparam h{Number("base", 10.0), Number("minval"), Number("maxval"), Count()};
    if (h.base <= 0) AddExpected(Member("base"), "base", "a number > 0");
    CheckOrder(h);
    CheckPowers(h);
    return {h};
  }
  Hyperparameter ReadCategorical() {
    RefuseOthers({"vals"});
    const ConfigNode* vals = Member("vals");
    if (vals == nullptr || vals->items.empty()) {
      AddExpected(vals, "vals", "a list with at least one value");
      return {};
    }
    CategoricalHparam h;
    for (const ConfigNode& item : vals->items) h.vals.push_back(item.ToValue());
    return {std::move(h)};
  }

  const ConfigNode& node_;
  std::string path_;
  Reading& reading_;
  std::vector<Problem>& problems_;
};

void ReadMembers(const ConfigNode& node, const std::string& path,
                 const std::vector<WrittenCondition>& around, SearchSpace& space,
                 Reading& reading) {
  const bool is_root = path.size() < reading.root_size;
  for (const ConfigMember& member : node.members) {
    if (member.key == "when" && !is_root) continue;
    space.emplace(
        member.key,
        HparamReader(member.value, absl::StrCat(path, ".", member.key), reading).Read(around));
  }
}

}  // namespace

void ReadSearchSpace(const ConfigNode& node, const std::string& path, SearchSpace& space,
                     std::vector<Problem>& problems) {
  Reading reading{.root_size = path.size() + 1, .conditions = {}, .problems = problems};
  ReadMembers(node, path, {}, space, reading);
  CheckConditions(space, reading.conditions, problems);
}

}  // namespace det::model
