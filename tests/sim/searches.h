// The programs that drive searches of kind `custom`: they post operations at random times until the
// faults stop, then let every trial go on and, when all have ended, shut the search down.
//
// Owned by World. A post is repeated until it is answered, by `ask`.
#ifndef TESTS_SIM_SEARCHES_H_
#define TESTS_SIM_SEARCHES_H_

#include <functional>
#include <memory>
#include <string>

#include "tests/sim/master.h"
#include "tests/sim/stage.h"

namespace det::sim {

class Searches {
 public:
  using Ask = std::function<void(const cluster::Event& request, const Master::Reply& reply)>;
  Searches(Stage& stage, Master& master, Ask ask)
      : stage_(stage), master_(master), ask_(std::move(ask)) {}

  // Drives the experiment, if it is one of these.
  void Begin(model::ExperimentId id);

 private:
  struct Search {
    model::ExperimentId id;
    int64_t created = 0;  // trials asked for: "1", "2", ...
    int64_t budget = 0;
    bool resumed = false;  // all of them, once the faults have stopped
  };

  void Next(const std::shared_ptr<Search>& search);
  void Choose(Search& search, searcher::OperationsPosted& post);
  bool AllEnded(const Search& search) const;
  model::RequestId Any(const Search& search);

  Stage& stage_;
  Master& master_;
  const Ask ask_;
};

}  // namespace det::sim

#endif  // TESTS_SIM_SEARCHES_H_
