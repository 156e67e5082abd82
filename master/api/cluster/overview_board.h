// The overview (overview.proto), made at most once a second, while somebody watches, and once for
// all who may see the same workspaces.
//
// Made by overview_service.cc, as a shared_ptr; any thread. What it shows is durable.
#ifndef MASTER_API_CLUSTER_OVERVIEW_BOARD_H_
#define MASTER_API_CLUSTER_OVERVIEW_BOARD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "det/api/v1/overview.pb.h"
#include "master/api/common/live_trials.h"
#include "master/api/rpc/edge.h"
#include "master/api/rpc/stream.h"

namespace det::api {

class OverviewBoard final : public std::enable_shared_from_this<OverviewBoard> {
 public:
  using Response = v1::GetOverviewResponse;
  using Visible = std::optional<std::vector<int32_t>>;  // workspaces; nullopt: all

  explicit OverviewBoard(const Edge& edge) : edge_(edge) {}

  // Sends the overview to `stream`: once, or until that is over. Who is slow is not sent what is
  // out of date.
  void Join(Visible visible, bool follow, std::shared_ptr<Stream<Response>> stream);

 private:
  // Those who see the same.
  struct Audience {
    std::shared_ptr<const Response> newest;
    std::map<int64_t, std::weak_ptr<Stream<Response>>> streams;
  };
  using Shown = std::shared_ptr<const Response>;

  // Looks for these audiences, of none for all; with `again` once more after each second while
  // there is anybody to show it to. An audience that all have left is kept until then: who asks
  // again and again sees what was made.
  void Look(std::vector<Visible> of, bool again);
  void Show(const Response& cluster, const LiveTrials& live, std::vector<Visible> of);
  // A look has failed: those who have seen nothing yet are told why. The others see it later.
  void Refuse(const absl::Status& why);
  absl::StatusOr<Response> Make(const Response& cluster, const LiveTrials& live,
                                const Visible& visible) const;
  void LookLater();
  void Leave(const Visible& visible, int64_t id);
  Shown Newest(const Visible& visible);

  const Edge& edge_;
  std::mutex mutex_;
  bool looking_ = false;
  int64_t last_ = 0;
  std::map<Visible, Audience> audiences_;
};

}  // namespace det::api

#endif  // MASTER_API_CLUSTER_OVERVIEW_BOARD_H_
