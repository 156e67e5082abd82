#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "google/protobuf/util/time_util.h"
#include "master/api/common/convert.h"

namespace det::api {

google::protobuf::Timestamp ToProto(absl::Time time) {
  google::protobuf::Timestamp out;
  const absl::Duration since = time - absl::UnixEpoch();
  int64_t seconds = absl::ToInt64Seconds(absl::Floor(since, absl::Seconds(1)));
  out.set_seconds(seconds);
  out.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(since - absl::Seconds(seconds))));
  return out;
}

absl::Time FromProto(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

google::protobuf::Value ToProtoValue(const model::Value& value) {
  google::protobuf::Value out;
  if (const bool* flag = value.AsBool()) {
    out.set_bool_value(*flag);
  } else if (const int64_t* whole = value.AsInt()) {
    out.set_number_value(static_cast<double>(*whole));
  } else if (const double* number = value.AsDouble()) {
    if (std::isnan(*number)) {
      out.set_string_value("NaN");
    } else if (std::isinf(*number)) {
      out.set_string_value(*number > 0 ? "Infinity" : "-Infinity");
    } else {
      out.set_number_value(*number);
    }
  } else if (const std::string* text = value.AsString()) {
    out.set_string_value(*text);
  } else if (const model::Value::List* list = value.AsList()) {
    out.mutable_list_value();
    for (const model::Value& item : *list) {
      *out.mutable_list_value()->add_values() = ToProtoValue(item);
    }
  } else if (value.AsObject() != nullptr) {
    *out.mutable_struct_value() = ToStruct(value);
  } else {
    out.set_null_value(google::protobuf::NULL_VALUE);
  }
  return out;
}

google::protobuf::Struct ToStruct(const model::Value& value) {
  google::protobuf::Struct out;
  if (value.AsObject() == nullptr) return out;
  for (const auto& [key, member] : *value.AsObject()) {
    (*out.mutable_fields())[key] = ToProtoValue(member);
  }
  return out;
}

namespace {

model::Value FromProtoValue(const google::protobuf::Value& value, Numbers numbers) {
  switch (value.kind_case()) {
    case google::protobuf::Value::kBoolValue:
      return value.bool_value();
    case google::protobuf::Value::kNumberValue: {
      const double number = value.number_value();
      const bool whole = std::trunc(number) == number && std::abs(number) < 9007199254740992.0;
      if (numbers == Numbers::kIntegersIfWhole && whole) return static_cast<int64_t>(number);
      return number;
    }
    case google::protobuf::Value::kStringValue:
      if (numbers == Numbers::kDoubles) {
        if (value.string_value() == "NaN") return std::nan("");
        if (value.string_value() == "Infinity") return HUGE_VAL;
        if (value.string_value() == "-Infinity") return -HUGE_VAL;
      }
      return value.string_value();
    case google::protobuf::Value::kListValue: {
      model::Value::List list;
      for (const google::protobuf::Value& item : value.list_value().values()) {
        list.push_back(FromProtoValue(item, numbers));
      }
      return list;
    }
    case google::protobuf::Value::kStructValue:
      return FromStruct(value.struct_value(), numbers);
    case google::protobuf::Value::kNullValue:
    case google::protobuf::Value::KIND_NOT_SET:
      break;
  }
  return {};
}

}  // namespace

model::Value FromStruct(const google::protobuf::Struct& value, Numbers numbers) {
  model::Value::Object out;
  for (const auto& [key, member] : value.fields()) out[key] = FromProtoValue(member, numbers);
  return out;
}

void IntersectNames(const std::vector<std::string>& kept, std::vector<std::string>* names) {
  if (kept.empty()) return;
  if (names->empty()) {
    *names = kept;
    return;
  }
  std::erase_if(*names, [&](const std::string& name) {
    return std::find(kept.begin(), kept.end(), name) == kept.end();
  });
  if (names->empty()) names->push_back("-");  // matches no name
}

store::Window ToNewestFirst(const store::Window& window, bool ascending, int total) {
  const store::Range range = store::Resolve(window, total);
  return {.offset = ascending ? total - range.end : range.begin, .limit = range.end - range.begin};
}

}  // namespace det::api
