#include "trial_api/cpp/core/hparams.h"

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "trial_api/cpp/core/error.h"
#include <nlohmann/json.hpp>

namespace det {

using Json = nlohmann::json;

struct Hparams::Rep {
  Json values;
};

namespace {

// A name is looked up as a whole first, then as a path of names.
const Json* Find(const Json& values, std::string_view name) {
  if (!values.is_object()) return nullptr;
  if (const auto it = values.find(std::string(name)); it != values.end()) return &*it;
  for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    const auto it = values.find(std::string(name.substr(0, dot)));
    if (it == values.end()) continue;
    if (const Json* found = Find(*it, name.substr(dot + 1))) return found;
  }
  return nullptr;
}

[[noreturn]] void ThrowType(std::string_view name, const Json& value, const char* expected) {
  throw InvalidHp("hyperparameter '" + std::string(name) + "' is " + value.dump() + ", not " +
                  expected);
}

const Json& Require(const Json& values, std::string_view name) {
  if (const Json* found = Find(values, name)) return *found;
  throw InvalidHp("hyperparameter '" + std::string(name) +
                  "' is missing; add it to `hyperparameters` in the experiment configuration");
}

int64_t GetInt(const Json& values, std::string_view name, int64_t min, int64_t max) {
  const Json& value = Require(values, name);
  if (!value.is_number_integer()) ThrowType(name, value, "an integer");
  const bool too_large =
      value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(max);
  if (too_large || value.get<int64_t>() > max || value.get<int64_t>() < min) {
    ThrowType(name, value, "an integer in the range of the requested type");
  }
  return value.get<int64_t>();
}

double GetNumber(const Json& values, std::string_view name) {
  const Json& value = Require(values, name);
  if (!value.is_number()) ThrowType(name, value, "a number");
  return value.get<double>();
}

}  // namespace

Hparams::Hparams(std::string_view json) {
  auto rep = std::make_shared<Rep>();
  rep->values = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!rep->values.is_object()) {
    throw Error("hyperparameters are not a JSON object: " + std::string(json.substr(0, 200)));
  }
  rep_ = std::move(rep);
}

bool Hparams::Has(std::string_view name) const { return Find(rep_->values, name) != nullptr; }

std::string Hparams::ToJson() const { return rep_->values.dump(); }

template <>
bool Hparams::Get<bool>(std::string_view name) const {
  const Json& value = Require(rep_->values, name);
  if (!value.is_boolean()) ThrowType(name, value, "true or false");
  return value.get<bool>();
}

template <>
int Hparams::Get<int>(std::string_view name) const {
  using Limits = std::numeric_limits<int>;
  return static_cast<int>(GetInt(rep_->values, name, Limits::min(), Limits::max()));
}

template <>
int64_t Hparams::Get<int64_t>(std::string_view name) const {
  using Limits = std::numeric_limits<int64_t>;
  return GetInt(rep_->values, name, Limits::min(), Limits::max());
}

template <>
float Hparams::Get<float>(std::string_view name) const {
  return static_cast<float>(GetNumber(rep_->values, name));
}

template <>
double Hparams::Get<double>(std::string_view name) const {
  return GetNumber(rep_->values, name);
}

template <>
std::string Hparams::Get<std::string>(std::string_view name) const {
  const Json& value = Require(rep_->values, name);
  if (!value.is_string()) ThrowType(name, value, "a string");
  return value.get<std::string>();
}

}  // namespace det
