// The communicator for GPU slots: NCCL. Numbers are in the memory of this rank's GPU; texts, and
// the detection of lost peers, use a communicator of the host.
//
// An operation waits for the computation that the GPU has been given before, and returns when it is
// done. If a peer ends meanwhile, as reported by NCCL or by the host's channel, it throws PeerGone;
// NCCL alone would wait forever. After a failure, all operations throw PeerGone.
#ifndef TRIAL_API_CPP_CORE_NCCL_COMMUNICATOR_H_
#define TRIAL_API_CPP_CORE_NCCL_COMMUNICATOR_H_

#include <memory>

#include "trial_api/cpp/core/communicator.h"
#include "trial_api/cpp/core/nccl_api.h"

namespace det::core {

// Creates a communicator. Collective among the ranks of `host`, from which its own channels are
// derived. `device` is this rank's GPU, which no other rank uses. Throws PeerGone, or Error with
// the message of a library.
std::unique_ptr<Communicator> ConnectNccl(Communicator& host, int device,
                                          std::shared_ptr<NcclApi> api);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_NCCL_COMMUNICATOR_H_
