#include "master/api/audit/audit_query.h"

#include <algorithm>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/api/common/convert.h"

namespace det::api {
namespace {

constexpr int kDefaultPageSize = 100;
constexpr int kMaxPageSize = 1'000;

v1::AuditRecord ToAuditRecord(const store::AuditRecord& record) {
  v1::AuditRecord out;
  out.set_id(record.id);
  *out.mutable_at() = ToProto(record.at);
  if (record.user) out.set_user_id(record.user->value());
  out.set_caller(record.caller);
  out.set_access_token_id(record.access_token);
  out.set_peer(record.peer);
  out.set_method(record.method);
  out.set_target(record.target);
  out.set_request_id(record.request_id);
  out.set_code(record.code);
  return out;
}

absl::StatusOr<store::AuditQuery> ToAuditQuery(store::Store& store,
                                               const v1::GetAuditRequest& request) {
  store::AuditQuery query;
  if (!request.username().empty()) {
    DET_ASSIGN_OR_RETURN(const auto user, store.users().GetUserByName(request.username()));
    query.user = user.id;
  }
  const bool whole = request.method().empty() || absl::StartsWith(request.method(), "det.");
  query.method = whole ? request.method() : absl::StrCat("det.api.v1.", request.method());
  if (request.has_since()) query.since = FromProto(request.since());
  if (request.has_until()) query.until = FromProto(request.until());
  query.before_id = request.before_id();
  return query;
}

}  // namespace

absl::Status ReadAudit(store::Store& store, const v1::GetAuditRequest& request,
                       v1::GetAuditResponse* response) {
  DET_ASSIGN_OR_RETURN(store::AuditQuery query, ToAuditQuery(store, request));
  DET_ASSIGN_OR_RETURN(const int total, store.audit().CountAudit(query));
  const int page =
      request.limit() == 0 ? kDefaultPageSize : std::min(request.limit(), kMaxPageSize);
  const bool ascending = request.order_by() == v1::ORDER_BY_ASC;
  const store::Window window = ToNewestFirst({request.offset(), page}, ascending, total);
  query.offset = window.offset;
  query.limit = window.limit;
  std::vector<store::AuditRecord> records;
  if (window.limit > 0) {
    DET_ASSIGN_OR_RETURN(records, store.audit().ListAudit(query));
  }
  if (ascending) std::reverse(records.begin(), records.end());
  for (const store::AuditRecord& record : records) *response->add_records() = ToAuditRecord(record);
  if (!ascending && records.size() == static_cast<size_t>(page)) {
    response->set_next_before_id(records.back().id);
  }
  *response->mutable_pagination() =
      ToPagination(request.offset(), page, response->records_size(), total);
  return absl::OkStatus();
}

}  // namespace det::api
