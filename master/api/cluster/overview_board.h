// Builds the overview (overview.proto) at most once a second while streams are open, and once for
// all users who see the same workspaces.
//
// Created by overview_service.cc as a shared_ptr; any thread. It shows only durable state.
#ifndef MASTER_API_CLUSTER_OVERVIEW_BOARD_H_
#define MASTER_API_CLUSTER_OVERVIEW_BOARD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/event_loop.h"
#include "base/thread_pool.h"
#include "det/api/v1/overview.pb.h"
#include "master/api/common/live_trials.h"
#include "master/api/rpc/stream.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::api {

class OverviewBoard final : public std::enable_shared_from_this<OverviewBoard> {
 public:
  using Response = v1::GetOverviewResponse;
  using Visible = std::optional<std::vector<int32_t>>;  // workspaces; nullopt: all

  OverviewBoard(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
                base::EventLoop& loop, const base::Clock& clock)
      : engine_(engine), store_(store), pool_(pool), loop_(loop), clock_(clock) {}

  // Sends the overview to `stream`: once, or each change until the stream ends if `follow` is set.
  // A slow client skips outdated versions.
  void Join(Visible visible, bool follow, std::shared_ptr<Stream<Response>> stream);

 private:
  // The streams of users who see the same workspaces.
  struct Audience {
    std::shared_ptr<const Response> latest;
    std::map<int64_t, std::weak_ptr<Stream<Response>>> streams;
  };
  using OverviewPtr = std::shared_ptr<const Response>;

  // Builds the overview for these audiences, or for all if the list is empty. With `repeat`,
  // schedules the next refresh while there are streams. An audience without streams is kept until
  // the next refresh, so that a client that polls gets the cached overview.
  void Refresh(std::vector<Visible> audiences, bool repeat);
  void Publish(const Response& cluster, const LiveTrials& live, std::vector<Visible> audiences);
  // Closes the streams that have not received anything yet with the error of a failed refresh. The
  // others wait for the next refresh.
  void FailWaiting(const absl::Status& why);
  absl::StatusOr<Response> Build(const Response& cluster, const LiveTrials& live,
                                 const Visible& visible) const;
  void ScheduleRefresh();
  void Leave(const Visible& visible, int64_t id);
  OverviewPtr GetLatest(const Visible& visible);

  engine::Engine& engine_;
  store::Store& store_;
  base::ThreadPool& pool_;
  base::EventLoop& loop_;
  const base::Clock& clock_;
  std::mutex mutex_;
  bool refreshing_ = false;
  int64_t last_stream_id_ = 0;
  std::map<Visible, Audience> audiences_;
};

}  // namespace det::api

#endif  // MASTER_API_CLUSTER_OVERVIEW_BOARD_H_
