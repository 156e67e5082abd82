// The engine's calls for who can wait: rare changes that read first.
//
// On the pool alone: they block until the commit. Never on the engine's loop.
#ifndef MASTER_SERVICE_BLOCKING_H_
#define MASTER_SERVICE_BLOCKING_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "master/service/edge.h"

namespace det::service {

absl::Status QueryNow(const Edge& edge, absl::FunctionRef<void(const cluster::Cluster&)> read);
absl::Status SubmitNow(const Edge& edge, cluster::Event event);

}  // namespace det::service

#endif  // MASTER_SERVICE_BLOCKING_H_
