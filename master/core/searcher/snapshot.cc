#include "master/core/searcher/snapshot.h"

#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::searcher {
namespace {

using model::Value;

absl::Status InvalidMember(const char* name, const char* type) {
  return absl::InvalidArgumentError(
      absl::StrCat("searcher snapshot: ", name, " is missing or not a ", type));
}

std::optional<double> AsNumber(const Value& value) {
  if (const std::optional<double> number = value.AsNumber()) return number;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value == Value("Infinity")) return kInfinity;
  if (value == Value("-Infinity")) return -kInfinity;
  if (value == Value("NaN")) return std::nan("");
  return std::nullopt;
}

}  // namespace

absl::StatusOr<int64_t> ReadCount(const Value& from, const char* name) {
  const Value* value = from.Find(name);
  if (value == nullptr || value->AsInt() == nullptr || *value->AsInt() < 0) {
    return InvalidMember(name, "count");
  }
  return *value->AsInt();
}

absl::StatusOr<double> ReadNumber(const Value& from, const char* name) {
  const Value* value = from.Find(name);
  const std::optional<double> number = value == nullptr ? std::nullopt : AsNumber(*value);
  if (!number) return InvalidMember(name, "number");
  return *number;
}

absl::StatusOr<std::vector<double>> ReadNumbers(const Value& from, const char* name) {
  DET_ASSIGN_OR_RETURN(const Value::List* list, ReadList(from, name));
  std::vector<double> numbers;
  for (const Value& value : *list) {
    const std::optional<double> number = AsNumber(value);
    if (!number) return InvalidMember(name, "list of numbers");
    numbers.push_back(*number);
  }
  return numbers;
}

absl::StatusOr<bool> ReadBool(const Value& from, const char* name) {
  const Value* value = from.Find(name);
  if (value == nullptr || value->AsBool() == nullptr) return InvalidMember(name, "boolean");
  return *value->AsBool();
}

absl::StatusOr<std::string> ReadText(const Value& from, const char* name) {
  const Value* value = from.Find(name);
  if (value == nullptr || value->AsString() == nullptr) return InvalidMember(name, "text");
  return *value->AsString();
}

absl::StatusOr<const Value::List*> ReadList(const Value& from, const char* name) {
  const Value* value = from.Find(name);
  if (value == nullptr || value->AsList() == nullptr) return InvalidMember(name, "list");
  return value->AsList();
}

absl::StatusOr<const Value::Object*> ReadObject(const Value& from, const char* name) {
  const Value* value = from.Find(name);
  if (value == nullptr || value->AsObject() == nullptr) return InvalidMember(name, "object");
  return value->AsObject();
}

}  // namespace det::searcher
