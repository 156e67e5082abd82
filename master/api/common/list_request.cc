#include "master/api/common/list_request.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace det::api {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The requests of the lists that are read by a query.
constexpr absl::string_view kQueries[] = {
    "GetExperimentsRequest",    "GetExperimentTrialsRequest",     "GetGroupsRequest",
    "GetTemplatesRequest",      "GetTrialWorkloadsRequest",       "ListRPsBoundToWorkspaceRequest",
    "SearchExperimentsRequest", "ListWorkspacesBoundToRPRequest", "SearchRunsRequest",
    "TrialLogsRequest",
};

bool IsReadByQuery(const Message& request) {
  return std::find(std::begin(kQueries), std::end(kQueries), request.GetDescriptor()->name()) !=
         std::end(kQueries);
}

const FieldDescriptor* FindInt(const Message& message, const char* name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  const bool is_int = field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_INT32;
  return is_int ? field : nullptr;
}

absl::Status CheckLimit(const Message& request) {
  const FieldDescriptor* field = FindInt(request, "limit");
  if (field == nullptr) return absl::OkStatus();
  const int limit = request.GetReflection()->GetInt32(request, field);
  if (limit >= 0 || IsReadByQuery(request)) return absl::OkStatus();
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

absl::Status CheckListResponse(const Message& request, const Message& response) {
  const FieldDescriptor* field = FindInt(request, "offset");
  if (field == nullptr || IsReadByQuery(request)) return absl::OkStatus();
  const FieldDescriptor* pagination = response.GetDescriptor()->FindFieldByName("pagination");
  if (pagination == nullptr || !response.GetReflection()->HasField(response, pagination)) {
    return absl::OkStatus();
  }
  const int offset = request.GetReflection()->GetInt32(request, field);
  const int total = dynamic_cast<const v1::Pagination&>(
                        response.GetReflection()->GetMessage(response, pagination))
                        .total();
  if (-total <= offset && offset <= total) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("offset out of bounds: found ", offset, ", but the list has ", total,
                   " elements; a negative offset counts from the end"));
}

store::Window ToWindow(int offset, int limit) {
  // A window of the store with a negative limit is empty.
  return {.offset = offset, .limit = limit < 0 && limit != -2 ? 0 : limit};
}

store::Window ToPage(int offset, int limit) {
  return ToWindow(offset, limit == 0 ? kDefaultPage : limit);
}

v1::Pagination ToPagination(int offset, int limit, int count, int total) {
  v1::Pagination out;
  const int start = offset >= 0 ? offset : std::max(0, total + offset);
  out.set_offset(offset);
  out.set_limit(limit);
  out.set_start_index(std::min(start, total));
  out.set_end_index(std::min(start, total) + count);
  out.set_total(total);
  return out;
}

}  // namespace det::api
