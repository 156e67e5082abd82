// The programs that drive searches of kind `custom`. They post operations at random times until the
// faults stop, then resume every trial and, after all have ended, shut the search down.
//
// Owned by World. `send_request` repeats a post until it gets a response.
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
  using SendRequest =
      std::function<void(const cluster::Event& request, const Master::Reply& reply)>;
  Searches(Stage& stage, Master& master, SendRequest send_request)
      : stage_(stage), master_(master), send_request_(std::move(send_request)) {}

  // Starts to drive the experiment if its searcher is `custom`.
  void Begin(model::ExperimentId id);

 private:
  struct Search {
    model::ExperimentId id;
    int64_t created = 0;  // number of trials requested: "1", "2", ...
    int64_t budget = 0;
    bool resumed = false;  // all trials, after the faults have stopped
  };

  void Next(const std::shared_ptr<Search>& search);
  void Choose(Search& search, searcher::OperationsPosted& post);
  bool AllEnded(const Search& search) const;
  model::RequestId Any(const Search& search);

  Stage& stage_;
  Master& master_;
  const SendRequest send_request_;
};

}  // namespace det::sim

#endif  // TESTS_SIM_SEARCHES_H_
