// Reads hyperparameters: a bare value is a constant, an object with a `type` is a range or a
// choice, any other object is nested.
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/model/parse/fields.h"

namespace det::model {
namespace {

class HparamReader {
 public:
  HparamReader(const ConfigNode& node, std::string path, std::vector<Problem>& problems)
      : node_(node), path_(std::move(path)), problems_(problems) {}

  Hyperparameter Read() {
    if (!node_.is_map()) return {ConstHparam{node_.ToValue()}};
    const ConfigNode* type = Member("type");
    if (type == nullptr) {
      NestedHparam nested;
      ReadSearchSpace(node_, path_, nested.members, problems_);
      return {std::move(nested)};
    }
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

 private:
  // Null members included: null is a value here.
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

  void RefuseOthers(const std::vector<std::string>& known) {
    for (const ConfigMember& member : node_.members) {
      bool is_known = member.key == "type";
      for (const std::string& name : known) is_known = is_known || name == member.key;
      if (is_known) continue;
      problems_.push_back(
          {member.where, absl::StrCat(path_, ".", member.key),
           absl::StrCat("unknown key; known here: type, ", absl::StrJoin(known, ", "))});
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
      Add(node_, key, absl::StrCat("required, but missing; expected ", std::string(what)));
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
  std::vector<Problem>& problems_;
};

}  // namespace

void ReadSearchSpace(const ConfigNode& node, const std::string& path, SearchSpace& space,
                     std::vector<Problem>& problems) {
  for (const ConfigMember& member : node.members) {
    space.emplace(member.key,
                  HparamReader(member.value, absl::StrCat(path, ".", member.key), problems).Read());
  }
}

}  // namespace det::model
