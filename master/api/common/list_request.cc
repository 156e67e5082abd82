#include "master/api/common/list_request.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace det::api {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

absl::Status CheckLimit(const Message& request) {
  const FieldDescriptor* field = request.GetDescriptor()->FindFieldByName("limit");
  if (field == nullptr || field->cpp_type() != FieldDescriptor::CPPTYPE_INT32) {
    return absl::OkStatus();
  }
  const int limit = request.GetReflection()->GetInt32(request, field);
  if (limit >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("limit: expected 0 (no limit) or more, found ", limit));
}

// Protobuf keeps unknown enum values, which newer clients may send, as numbers.
absl::Status CheckOrder(const Message& request, const char* name) {
  const FieldDescriptor* field = request.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr || field->cpp_type() != FieldDescriptor::CPPTYPE_ENUM) {
    return absl::OkStatus();
  }
  const int found = request.GetReflection()->GetEnumValue(request, field);
  const google::protobuf::EnumDescriptor& type = *field->enum_type();
  if (type.FindValueByNumber(found) != nullptr) return absl::OkStatus();
  std::vector<std::string> known;
  for (int i = 0; i < type.value_count(); ++i) known.push_back(type.value(i)->name());
  return absl::InvalidArgumentError(absl::StrCat(field->json_name(), ": expected one of ",
                                                 absl::StrJoin(known, ", "), "; found ", found));
}

}  // namespace

absl::Status CheckListRequest(const Message& request) {
  absl::Status status = CheckLimit(request);
  for (const char* name : {"order_by", "sort_by", "sort_by_attr"}) {
    if (status.ok()) status = CheckOrder(request, name);
  }
  return status;
}

}  // namespace det::api
