// A JSON-like value: hyperparameters, free-form configuration, metrics of any shape. Ours, because
// equality must be plain and the JSON library's header is too heavy for a header of ours.
//
// Integers and doubles are distinct; an object keeps its keys sorted. Any thread; immutable use.
// PURE.
#ifndef MASTER_CORE_MODEL_VALUE_H_
#define MASTER_CORE_MODEL_VALUE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace det::model {

class Value {
 public:
  using List = std::vector<Value>;
  using Object = std::map<std::string, Value>;

  Value() = default;  // null
  Value(bool v) : data_(v) {}
  Value(int v) : data_(static_cast<int64_t>(v)) {}
  Value(int64_t v) : data_(v) {}
  Value(double v) : data_(v) {}
  Value(const char* v) : data_(std::string(v)) {}
  Value(std::string v) : data_(std::move(v)) {}
  Value(List v) : data_(std::move(v)) {}
  Value(Object v) : data_(std::move(v)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  const bool* AsBool() const { return std::get_if<bool>(&data_); }
  const int64_t* AsInt() const { return std::get_if<int64_t>(&data_); }
  const double* AsDouble() const { return std::get_if<double>(&data_); }
  const std::string* AsString() const { return std::get_if<std::string>(&data_); }
  const List* AsList() const { return std::get_if<List>(&data_); }
  const Object* AsObject() const { return std::get_if<Object>(&data_); }
  List* MutableList() { return std::get_if<List>(&data_); }
  Object* MutableObject() { return std::get_if<Object>(&data_); }

  // An integer or a double as a double.
  std::optional<double> AsNumber() const;

  // The member of an object, or null when there is none or this is no object.
  const Value* Find(std::string_view key) const;

  // Compact JSON. NaN and the infinities, which JSON lacks, become the strings "NaN", "Infinity"
  // and "-Infinity".
  std::string ToJson() const;

  // INVALID_ARGUMENT with the position for text that is not one JSON value.
  static absl::StatusOr<Value> FromJson(std::string_view text);

  friend bool operator==(const Value&, const Value&) = default;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, List, Object> data_;
};

// One chosen value per hyperparameter, nested as in the configuration.
using Hparams = Value::Object;

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_VALUE_H_
