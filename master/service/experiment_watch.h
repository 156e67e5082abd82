// Those who watch experiments and those who follow logs.
//
// The engine reports changes on its loop, the agent hub reports lines on its threads; streams
// subscribe on any thread. Never reads anything: a subscriber looks for itself.
#ifndef MASTER_SERVICE_EXPERIMENT_WATCH_H_
#define MASTER_SERVICE_EXPERIMENT_WATCH_H_

#include "master/engine/sinks.h"
#include "master/model/ids.h"
#include "master/service/topic.h"

namespace det::service {

class ExperimentWatch final : public engine::ExperimentSink {
 public:
  void Changed(model::ExperimentId id) override { experiments_.Notify(id); }

  // Lines of this task were stored.
  void LogsArrived(const model::TaskId& task) { logs_.Notify(task); }

  Topic<model::ExperimentId>& experiments() { return experiments_; }
  Topic<model::TaskId>& logs() { return logs_; }

 private:
  Topic<model::ExperimentId> experiments_;
  Topic<model::TaskId> logs_;
};

}  // namespace det::service

#endif  // MASTER_SERVICE_EXPERIMENT_WATCH_H_
