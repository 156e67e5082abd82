#include "master/core/model/experiment_config.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace det::model {
namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

template <class T>
Value ToRange(const char* type, const T& range) {
  Value::Object object{{"type", type}, {"minval", range.minval}, {"maxval", range.maxval}};
  if (range.count) object["count"] = *range.count;
  return object;
}

Value ToValue(const Condition& condition) {
  if (!condition.any_of.empty()) return condition.any_of;
  Value::Object range;
  if (condition.minval) range["minval"] = *condition.minval;
  if (condition.maxval) range["maxval"] = *condition.maxval;
  return range;
}

}  // namespace

Value ToValue(const Hyperparameter& hparam) {
  Value value = std::visit(Overloaded{
                               [](const ConstHparam& h) -> Value {
                                 return Value::Object{{"type", "const"}, {"val", h.val}};
                               },
                               [](const IntHparam& h) { return ToRange("int", h); },
                               [](const DoubleHparam& h) { return ToRange("double", h); },
                               [](const LogHparam& h) {
                                 Value log = ToRange("log", h);
                                 log.MutableObject()->emplace("base", h.base);
                                 return log;
                               },
                               [](const CategoricalHparam& h) -> Value {
                                 return Value::Object{{"type", "categorical"}, {"vals", h.vals}};
                               },
                               [](const NestedHparam& h) { return ToValue(h.members); },
                           },
                           hparam.kind);
  if (hparam.when.empty()) return value;
  Value::Object when;
  for (const Condition& condition : hparam.when) when.emplace(condition.path, ToValue(condition));
  value.MutableObject()->emplace("when", std::move(when));
  return value;
}

Value ToValue(const SearchSpace& space) {
  Value::Object object;
  for (const auto& [name, hparam] : space) object.emplace(name, ToValue(hparam));
  return object;
}

std::string CheckpointDirectory(const CheckpointStorageConfig& storage) {
  if (storage.type == "directory") return storage.container_path;
  if (storage.type != "shared_fs") return "";
  if (storage.storage_path.empty()) return storage.host_path;
  return absl::StrCat(storage.host_path, "/", storage.storage_path);
}

}  // namespace det::model
