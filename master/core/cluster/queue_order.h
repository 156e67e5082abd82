// The jobs of each pool and priority in the order of their positions. Part of the cluster's memory;
// derived from its experiments and tasks.
//
// Private to this folder. PURE.
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
  // Ordered by position, then by id.
  using Peers = std::set<std::pair<double, model::JobId>>;

  // Adds the job or moves it.
  void Put(const model::JobId& id, const experiment::QueuePlace& place);
  void Remove(const model::JobId& id);

  // Returns the jobs of the place's pool and priority.
  const Peers& GetPeers(const experiment::QueuePlace& place) const;
  // Returns an unused position directly ahead of or behind the job. Nullopt if no number is left
  // between the job and its neighbour. REQUIRES that the job was put.
  std::optional<double> Beside(const model::JobId& id, bool ahead) const;

 private:
  using Key = std::pair<std::string, int>;  // pool and priority
  struct Spot {
    Key key;
    double position = 0;
  };

  std::map<Key, Peers> peers_;
  std::map<model::JobId, Spot> spots_;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_QUEUE_ORDER_H_
