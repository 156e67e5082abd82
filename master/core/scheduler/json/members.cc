#include "master/core/scheduler/json/members.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace det::scheduler {
namespace {

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

void Problems::Add(std::string_view path, std::string_view what) {
  lines_.push_back(path.empty() ? std::string(what) : absl::StrCat(Absl(path), ": ", Absl(what)));
}

absl::Status Problems::ToStatus() const {
  if (lines_.empty()) return absl::OkStatus();
  const size_t shown = std::min(lines_.size(), kLines);
  std::string text =
      absl::StrJoin(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(shown), "\n");
  if (shown < lines_.size()) absl::StrAppend(&text, "\nand ", lines_.size() - shown, " more");
  return absl::InvalidArgumentError(text);
}

std::string Describe(const model::Value& value) {
  if (value.AsList() != nullptr) return "a list";
  if (value.AsObject() != nullptr) return "an object";
  constexpr size_t kMaxShownLength = 60;
  std::string text = value.ToJson();
  if (text.size() > kMaxShownLength) text = absl::StrCat(text.substr(0, kMaxShownLength), "...");
  return text;
}

std::optional<std::string> ParseText(const model::Value& value) {
  if (const std::string* text = value.AsString()) return *text;
  if (value.AsNumber()) return value.ToJson();
  return std::nullopt;
}

std::optional<int64_t> ParseInt(const model::Value& value) {
  if (const int64_t* number = value.AsInt()) return *number;
  constexpr double kMaxExactInteger = 9e15;  // doubles cannot represent all larger integers
  const double* number = value.AsDouble();
  if (number == nullptr || std::floor(*number) != *number || std::abs(*number) > kMaxExactInteger) {
    return std::nullopt;
  }
  return static_cast<int64_t>(*number);
}

std::optional<absl::Time> ParseTime(const model::Value& value) {
  if (const auto number = value.AsNumber()) {
    return absl::UnixEpoch() + absl::Seconds(*number);
  }
  const std::string* text = value.AsString();
  absl::Time time;
  if (text == nullptr || !absl::ParseTime(absl::RFC3339_full, *text, &time, nullptr)) {
    return std::nullopt;
  }
  return time;
}

std::optional<absl::Duration> ParseDuration(const model::Value& value) {
  absl::Duration duration;
  const std::string* text = value.AsString();
  double seconds = 0;
  if (const auto number = value.AsNumber()) {
    duration = absl::Seconds(*number);
  } else if (text != nullptr && absl::SimpleAtod(*text, &seconds)) {
    duration = absl::Seconds(seconds);
  } else if (text == nullptr || !absl::ParseDuration(*text, &duration)) {
    return std::nullopt;
  }
  if (duration < absl::ZeroDuration()) return std::nullopt;
  return duration;
}

Members::Members(const model::Value& value, std::string path, Problems* problems)
    : object_(value.AsObject()), path_(std::move(path)), problems_(problems) {
  if (object_ == nullptr) {
    problems_->Add(path_, absl::StrCat("expected an object, found ", Describe(value)));
  }
}

std::string Members::GetPath(std::string_view key) const {
  const bool words = !path_.empty() && path_.back() == ':';
  return absl::StrCat(path_, path_.empty() ? "" : words ? " " : ".", Absl(key));
}

void Members::Complain(std::string_view key, std::string_view what) const {
  problems_->Add(GetPath(key), what);
}

void Members::Expected(std::string_view key, std::string_view what) {
  const model::Value* value = Find(key);
  Complain(key, absl::StrCat("expected ", Absl(what), ", found ",
                             value == nullptr ? "nothing" : Describe(*value)));
}

const model::Value* Members::Find(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  if (object_ == nullptr) return nullptr;
  const auto it = object_->find(std::string(key));
  return it == object_->end() || it->second.is_null() ? nullptr : &it->second;
}

bool Members::Read(std::string_view key, bool* out) {
  const model::Value* value = Find(key);
  if (value == nullptr) return false;
  const bool* flag = value->AsBool();
  if (flag == nullptr) {
    Expected(key, "true or false");
    return false;
  }
  *out = *flag;
  return true;
}

bool Members::Read(std::string_view key, std::string* out) {
  const model::Value* value = Find(key);
  if (value == nullptr) return false;
  std::optional<std::string> text = ParseText(*value);
  if (!text) {
    Expected(key, "text");
    return false;
  }
  *out = *std::move(text);
  return true;
}

bool Members::ReadInt(std::string_view key, int64_t least, int64_t most, int64_t* out) {
  const model::Value* value = Find(key);
  if (value == nullptr) return false;
  const std::optional<int64_t> number = ParseInt(*value);
  if (!number || *number < least || *number > most) {
    const bool open =
        most == std::numeric_limits<int64_t>::max() || most == std::numeric_limits<int>::max();
    const std::string range =
        open ? absl::StrCat(" >= ", least) : absl::StrCat(" from ", least, " to ", most);
    const bool any = open && least == std::numeric_limits<int64_t>::min();
    Expected(key, absl::StrCat("an integer", any ? "" : range));
    return false;
  }
  *out = *number;
  return true;
}

bool Members::ReadInt(std::string_view key, int least, int most, int* out) {
  int64_t number = 0;
  if (!ReadInt(key, int64_t{least}, int64_t{most}, &number)) return false;
  *out = static_cast<int>(number);
  return true;
}

bool Members::ReadNumber(std::string_view key, double least, double* out) {
  const model::Value* value = Find(key);
  if (value == nullptr) return false;
  const std::optional<double> number = value->AsNumber();
  if (!number || !std::isfinite(*number) || *number < least) {
    const bool any = std::isinf(least);
    Expected(key, any ? std::string("a number") : absl::StrCat("a number >= ", least));
    return false;
  }
  *out = *number;
  return true;
}

bool Members::ReadTime(std::string_view key, absl::Time* out) {
  const model::Value* value = Find(key);
  if (value == nullptr) return false;
  const std::optional<absl::Time> time = ParseTime(*value);
  if (!time) {
    Expected(key, "a time such as \"2026-11-21T09:42:40Z\", or seconds since 1970");
    return false;
  }
  *out = *time;
  return true;
}

bool Members::ReadDuration(std::string_view key, absl::Duration* out) {
  const model::Value* value = Find(key);
  if (value == nullptr) return false;
  const std::optional<absl::Duration> duration = ParseDuration(*value);
  if (!duration) {
    Expected(key, "seconds or a duration such as \"2h30m\"");
    return false;
  }
  *out = *duration;
  return true;
}

bool Members::ReadStrings(std::string_view key, std::vector<std::string>* out) {
  if (Find(key) == nullptr) return false;
  ForEach(key, [&](const model::Value& value, const std::string& path) {
    std::optional<std::string> text = ParseText(value);
    if (text) {
      out->push_back(*std::move(text));
    } else {
      problems_->Add(path, absl::StrCat("expected a string, found ", Describe(value)));
    }
  });
  return true;
}

bool Members::ReadStrings(std::string_view key, std::map<std::string, std::string>* out) {
  const model::Value* value = Find(key);
  if (value == nullptr) return false;
  const model::Value::Object* object = value->AsObject();
  if (object == nullptr) {
    Expected(key, "an object of strings");
    return false;
  }
  for (const auto& [name, member] : *object) {
    std::optional<std::string> text = ParseText(member);
    if (const bool* flag = member.AsBool()) text = *flag ? "true" : "false";
    if (text) {
      out->insert_or_assign(name, *std::move(text));
    } else {
      problems_->Add(absl::StrCat(GetPath(key), ".", name),
                     absl::StrCat("expected a string, found ", Describe(member)));
    }
  }
  return true;
}

void Members::ForEach(
    std::string_view key,
    absl::FunctionRef<void(const model::Value&, const std::string& path)> element) {
  const model::Value* value = Find(key);
  if (value == nullptr) return;
  const model::Value::List* list = value->AsList();
  if (list == nullptr) return Expected(key, "a list");
  for (size_t i = 0; i < list->size(); ++i) {
    element((*list)[i], absl::StrCat(GetPath(key), "[", i, "]"));
  }
}

void Members::RejectUnknownMembers() const {
  if (object_ == nullptr) return;
  for (const auto& [key, value] : *object_) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const auto name = [](std::string* out, std::string_view known) {
      out->append(known.data(), known.size());
    };
    problems_->Add(GetPath(key), absl::StrCat("unknown field; expected one of ",
                                              absl::StrJoin(known_, ", ", name)));
  }
}

}  // namespace det::scheduler
