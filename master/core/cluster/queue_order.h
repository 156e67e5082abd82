// The jobs of each pool and priority in the order of their positions. Part of the cluster's memory;
// derived from its experiments.
//
// Included by this folder's sources alone. PURE.
#ifndef MASTER_CORE_CLUSTER_QUEUE_ORDER_H_
#define MASTER_CORE_CLUSTER_QUEUE_ORDER_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "master/core/experiment/experiment.h"
#include "master/core/model/ids.h"

namespace det::cluster {

class QueueOrder {
 public:
  // By position; those of equal ones by id.
  using Peers = std::set<std::pair<double, model::ExperimentId>>;

  // Where it stands now.
  void Put(model::ExperimentId id, const experiment::QueuePlace& place);
  void Remove(model::ExperimentId id);

  // Those of the place's pool and priority.
  const Peers& PeersOf(const experiment::QueuePlace& place) const;
  // Right before the job, or right behind it: a position that no other of its peers has. Nullopt
  // where the numbers between it and its neighbour have run out. REQUIRES that it was put.
  std::optional<double> Beside(model::ExperimentId id, bool ahead) const;

 private:
  using Key = std::pair<std::string, int>;  // pool and priority
  struct Spot {
    Key key;
    double position = 0;
  };

  std::map<Key, Peers> peers_;
  std::map<model::ExperimentId, Spot> spots_;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_QUEUE_ORDER_H_
