// The gRPC services of the API and of running trials. Thin: admit, validate, convert, then submit
// to the engine or read from the store.
//
// Made by master.cc, which registers them with the server; `edge` must outlive them. Their methods
// run on gRPC's threads and on the edge's pool.
#ifndef MASTER_API_SERVICES_H_
#define MASTER_API_SERVICES_H_

#include <array>
#include <memory>
#include <vector>

#include "master/api/rpc/edge.h"
#include "master/api/rpc/service.h"
#include "master/api/runtime/all_gather.h"
#include "master/live/allocation_watch.h"

namespace det::api {

// All of them: what is listed here is served by gRPC and by HTTP.
std::vector<std::unique_ptr<Service>> MakeServices(const Edge& edge, live::AllocationWatch& watch,
                                                   AllGather& all_gather);

// Those of their methods that HTTP serves as one answer and that wait for something to happen.
inline constexpr std::array kLongPolls = {
    "det.api.v1.TaskRuntimeService.AllocationRendezvousInfo",
    "det.api.v1.TaskRuntimeService.AllocationPreemptionSignal",
};

}  // namespace det::api

#endif  // MASTER_API_SERVICES_H_
