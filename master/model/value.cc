#include "master/model/value.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace det::model {
namespace {

using Json = nlohmann::json;

// Deeper nesting is refused: copying and destroying a Value recurses.
constexpr int kMaxDepth = 200;

Json ToNlohmann(const Value& value) {
  if (const bool* v = value.AsBool()) return *v;
  if (const int64_t* v = value.AsInt()) return *v;
  if (const double* v = value.AsDouble()) {
    if (std::isnan(*v)) return "NaN";
    if (std::isinf(*v)) return *v > 0 ? "Infinity" : "-Infinity";
    return *v;
  }
  if (const std::string* v = value.AsString()) return *v;
  if (const Value::List* v = value.AsList()) {
    Json list = Json::array();
    for (const Value& item : *v) list.push_back(ToNlohmann(item));
    return list;
  }
  if (const Value::Object* v = value.AsObject()) {
    Json object = Json::object();
    for (const auto& [key, member] : *v) object[key] = ToNlohmann(member);
    return object;
  }
  return nullptr;
}

Value FromNlohmann(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_integer:
      return json.get<int64_t>();
    case Json::value_t::number_unsigned: {
      const uint64_t v = json.get<uint64_t>();
      // Beyond int64 a double is the nearest there is.
      if (v > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return static_cast<double>(v);
      }
      return static_cast<int64_t>(v);
    }
    case Json::value_t::number_float:
      return json.get<double>();
    case Json::value_t::string:
      return json.get<std::string>();
    case Json::value_t::array: {
      Value::List list;
      list.reserve(json.size());
      for (const Json& item : json) list.push_back(FromNlohmann(item));
      return list;
    }
    case Json::value_t::object: {
      Value::Object object;
      for (const auto& [key, member] : json.items()) object.emplace(key, FromNlohmann(member));
      return object;
    }
    case Json::value_t::null:
    case Json::value_t::binary:
    case Json::value_t::discarded:
      break;
  }
  return Value();
}

}  // namespace

std::optional<double> Value::AsNumber() const {
  if (const int64_t* v = AsInt()) return static_cast<double>(*v);
  if (const double* v = AsDouble()) return *v;
  return std::nullopt;
}

const Value* Value::Find(std::string_view key) const {
  const Object* object = AsObject();
  if (object == nullptr) return nullptr;
  const auto it = object->find(std::string(key));
  return it == object->end() ? nullptr : &it->second;
}

std::string Value::ToJson() const {
  // Text that is not UTF-8 has no JSON form; its bad bytes become U+FFFD rather than an exception.
  return ToNlohmann(*this).dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<Value> Value::FromJson(std::string_view text) {
  bool too_deep = false;
  const auto watch_depth = [&too_deep](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) too_deep = true;
    return !too_deep;
  };
  try {
    const Json json = Json::parse(text.begin(), text.end(), watch_depth);
    if (too_deep) {
      return absl::InvalidArgumentError(
          absl::StrCat("JSON is nested deeper than ", kMaxDepth, " levels; flatten it"));
    }
    return FromNlohmann(json);
  } catch (const Json::parse_error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("not valid JSON at byte ", error.byte, ": ", error.what()));
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("not valid JSON: ", error.what()));
  }
}

}  // namespace det::model
