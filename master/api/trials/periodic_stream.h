// A stream of what is new in some experiments: everything at first, then what is new once every
// period. It ends with the message that contains the last data of the experiments, after they have
// ended.
//
// Used by the run service on the pool.
#ifndef MASTER_API_TRIALS_PERIODIC_STREAM_H_
#define MASTER_API_TRIALS_PERIODIC_STREAM_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/event_loop.h"
#include "base/status_macros.h"
#include "master/api/rpc/stream.h"
#include "master/api/trials/run_series.h"
#include "master/core/model/states.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// The period of requests that name none.
inline constexpr absl::Duration kDefaultPeriod = absl::Seconds(30);

// Returns NOT_FOUND if one of them does not exist, INVALID_ARGUMENT if there are none.
inline absl::StatusOr<bool> HaveEnded(store::Store& store,
                                      const std::vector<model::ExperimentId>& experiments) {
  if (experiments.empty()) {
    return absl::InvalidArgumentError("ids: specify at least one experiment");
  }
  bool ended = true;
  for (const model::ExperimentId& id : experiments) {
    DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, store.GetExperiment(id));
    ended = ended && model::IsTerminal(record.experiment.state);
  }
  return ended;
}

template <class Response>
void ServePeriodically(store::Store& store, base::EventLoop& loop,
                       std::shared_ptr<Stream<Response>> stream,
                       std::vector<model::ExperimentId> experiments, absl::Duration period,
                       Series<Response> series) {
  auto shared = std::make_shared<Series<Response>>(std::move(series));
  stream->Start(
      [&store, &loop, experiments = std::move(experiments), period, shared](Stream<Response>& out) {
        // The state is read before the data, so that the data is complete if they have ended.
        const absl::StatusOr<bool> ended = HaveEnded(store, experiments);
        if (!ended.ok()) return out.Close(ended.status());
        absl::StatusOr<Response> response = (*shared)();
        if (!response.ok()) return out.Close(response.status());
        if (!out.Send(*std::move(response))) return;
        if (*ended) return out.Close(absl::OkStatus());
        loop.PostAfter(period, [weak = std::weak_ptr<Stream<Response>>(out.shared_from_this())] {
          if (const auto held = weak.lock()) held->Wake();
        });
      },
      nullptr);
}

}  // namespace det::api

#endif  // MASTER_API_TRIALS_PERIODIC_STREAM_H_
