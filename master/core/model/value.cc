#include "master/core/model/value.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace det::model {
namespace {

using Json = nlohmann::json;

// Deeper nesting is refused: copying and destroying a Value recurses.
constexpr size_t kMaxDepth = 200;

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

// Builds a Value as the text is read: a document of the library's own first would cost a second
// tree of allocations, and a page of trials is hundreds of such texts.
class Builder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return Put(Value()); }
  bool boolean(bool v) override { return Put(v); }
  bool number_integer(number_integer_t v) override { return Put(static_cast<int64_t>(v)); }
  bool number_unsigned(number_unsigned_t v) override {
    // Beyond int64 a double is the nearest there is.
    if (v > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Put(static_cast<double>(v));
    }
    return Put(static_cast<int64_t>(v));
  }
  bool number_float(number_float_t v, const string_t&) override { return Put(v); }
  bool string(string_t& v) override { return Put(std::move(v)); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool start_object(size_t) override { return Open(Value::Object()); }
  bool key(string_t& v) override {
    key_ = std::move(v);
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(Value::List()); }
  bool end_array() override { return Close(); }
  bool parse_error(size_t, const std::string&, const Json::exception& error) override {
    const auto* at = dynamic_cast<const Json::parse_error*>(&error);
    error_ = at == nullptr ? absl::StrCat("not valid JSON: ", error.what())
                           : absl::StrCat("not valid JSON at byte ", at->byte, ": ", error.what());
    return false;
  }

  // What was built. INVALID_ARGUMENT after an error.
  absl::StatusOr<Value> Finish() && {
    if (!error_.empty()) return absl::InvalidArgumentError(error_);
    return std::move(root_);
  }

 private:
  // Into the innermost list or object that is open; of two equal keys the last one counts.
  Value* Place(Value value) {
    if (open_.empty()) return &(root_ = std::move(value));
    if (Value::List* list = open_.back()->MutableList()) {
      return &list->emplace_back(std::move(value));
    }
    return &open_.back()
                ->MutableObject()
                ->insert_or_assign(std::move(key_), std::move(value))
                .first->second;
  }
  bool Put(Value value) {
    Place(std::move(value));
    return true;
  }
  // Its place stays where it is until it is closed: only the innermost grows.
  bool Open(Value value) {
    if (open_.size() >= kMaxDepth) {
      error_ = absl::StrCat("JSON is nested deeper than ", kMaxDepth, " levels; flatten it");
      return false;
    }
    open_.push_back(Place(std::move(value)));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  Value root_;
  std::vector<Value*> open_;
  std::string key_;
  std::string error_;
};

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
  Builder builder;
  try {
    Json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("not valid JSON: ", error.what()));
  }
  return std::move(builder).Finish();
}

}  // namespace det::model
