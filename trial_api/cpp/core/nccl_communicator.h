// The communicator of GPU slots: NCCL. Numbers lie in memory of this rank's GPU; texts, and who is
// still there, go over a communicator of the host.
//
// An operation follows what the GPU has been told to compute before, and returns when it is done. A
// peer that goes meanwhile, as NCCL or the host's channel says, ends it with PeerGone: NCCL by
// itself would wait for ever. What failed once throws PeerGone from then on.
#ifndef TRIAL_API_CPP_CORE_NCCL_COMMUNICATOR_H_
#define TRIAL_API_CPP_CORE_NCCL_COMMUNICATOR_H_

#include <memory>

#include "trial_api/cpp/core/communicator.h"
#include "trial_api/cpp/core/nccl_api.h"

namespace det::core {

// Collective among the ranks of `host`, from which its own channels come. `device`: this rank's
// GPU, which no other rank has. Throws PeerGone, or Error in the words of the libraries.
std::unique_ptr<Communicator> ConnectNccl(Communicator& host, int device,
                                          std::shared_ptr<NcclApi> api);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_NCCL_COMMUNICATOR_H_
