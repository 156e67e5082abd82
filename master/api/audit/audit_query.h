// Reads a page of audit records: who changed what, and when.
//
// Called by the master service on the pool; blocks.
#ifndef MASTER_API_AUDIT_AUDIT_QUERY_H_
#define MASTER_API_AUDIT_AUDIT_QUERY_H_

#include "absl/status/status.h"
#include "det/api/v1/master.pb.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Returns NOT_FOUND if the user of the request does not exist.
absl::Status ReadAudit(store::Store& store, const v1::GetAuditRequest& request,
                       v1::GetAuditResponse* response);

}  // namespace det::api

#endif  // MASTER_API_AUDIT_AUDIT_QUERY_H_
