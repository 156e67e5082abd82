// For tests: a master that knows one allocation, as a gRPC server in the test's process. Any
// thread. Called by tests of this folder, of the launcher and of the torch layer.
#ifndef TRIAL_API_CPP_CORE_FAKE_MASTER_H_
#define TRIAL_API_CPP_CORE_FAKE_MASTER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trial_api/cpp/core/trial_client.h"

namespace det::core {

class FakeMaster {
 public:
  // Starts to serve on a free port of the loopback.
  FakeMaster();
  ~FakeMaster();

  // For clients of allocation "1.1.0" of trial 1.
  TrialClient::Options ClientOptions() const;
  // The variables that an agent would set, NAME -> value; without DET_RUN_DIR and its like.
  std::map<std::string, std::string> Environment() const;

  // For watchers, those to come too.
  void SendRendezvous(const std::vector<Node>& nodes);
  void Preempt(const std::string& reason);
  void EndAllocation();

  // The next `calls` unary calls fail as if nobody were there.
  void BeAway(int calls);
  // The next `calls` reports are taken, and their answers lost.
  void LoseAnswers(int calls);
  // Ends the server with all of its calls and connections; starts it again on the same port, with
  // everything that it knew.
  void Stop();
  void Start();
  // From the next Start on: over TLS, with this certificate and key (PEM).
  void ServeTls(const std::string& certificate, const std::string& key);
  // Every ReportCheckpoint and ReportMetrics is refused from now on with this message.
  void Refuse(const std::string& message);
  // What ReportMetrics answers.
  void SetBestSoFar(bool best);
  // ReportMetrics waits while it is held.
  void HoldMetrics(bool hold);

  // What it was told, in order, one text per report:
  //   "metrics training 10 loss=0.5", "progress 0.5", "checkpoint UUID 10 model.pt=3 ...",
  //   "damaged UUID INSTEAD", "ack", "early_exit INVALID_HP message"; metrics of another run than 0
  //   end in " run=N".
  // As the real one does, it drops metrics and checkpoints that it knows.
  std::vector<std::string> Reports() const;
  // How many reports it dropped.
  int Repeats() const;
  // Waits until `count` reports have come, and returns them all.
  std::vector<std::string> AwaitReports(size_t count) const;

 private:
  class Service;
  struct Server;
  const std::unique_ptr<Service> service_;
  const std::unique_ptr<Server> server_;
};

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_FAKE_MASTER_H_
