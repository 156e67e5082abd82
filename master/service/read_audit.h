// Records of who changed what, a page of them.
//
// Called by the master service on the pool; blocks.
#ifndef MASTER_SERVICE_READ_AUDIT_H_
#define MASTER_SERVICE_READ_AUDIT_H_

#include "absl/status/status.h"
#include "det/api/v1/master.pb.h"
#include "master/store/store.h"

namespace det::service {

// NOT_FOUND for a user who does not exist.
absl::Status ReadAudit(store::Store& store, const det::api::v1::GetAuditRequest& request,
                       det::api::v1::GetAuditResponse* response);

}  // namespace det::service

#endif  // MASTER_SERVICE_READ_AUDIT_H_
