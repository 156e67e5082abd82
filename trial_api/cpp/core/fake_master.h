// A master for tests that knows one allocation: a gRPC server in the test's process. Any thread.
// Used by tests of this directory, of the launcher and of the torch layer.
#ifndef TRIAL_API_CPP_CORE_FAKE_MASTER_H_
#define TRIAL_API_CPP_CORE_FAKE_MASTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trial_api/cpp/core/trial_client.h"

namespace det::core {

class FakeMaster {
 public:
  // Starts a server on a free loopback port.
  FakeMaster();
  ~FakeMaster();

  // Options for clients of allocation "1.1.0" of trial 1.
  TrialClient::Options ClientOptions() const;
  // The variables that an agent would set, NAME -> value, without those of directories.
  std::map<std::string, std::string> Environment() const;

  // Sends to current and future watchers.
  void SendRendezvous(const std::vector<Node>& nodes);
  void Preempt(const std::string& reason);
  void EndAllocation();

  // Makes the next `calls` unary calls fail with UNAVAILABLE.
  void FailCalls(int calls);
  // Applies the next `calls` reports but fails their calls.
  void LoseResponses(int calls);
  // Stops the server with all of its calls and connections; Start() starts it again on the same
  // port with the same state.
  void Stop();
  void Start();
  // Uses TLS with this certificate and key (PEM) from the next Start on.
  void ServeTls(const std::string& certificate, const std::string& key);
  // Rejects every ReportCheckpoint and ReportMetrics with this message from now on.
  void RejectReports(const std::string& message);
  // Rejects every ReportMetrics with a report of this step as invalid, and stores none of it.
  void RejectStep(int64_t step);
  // Sets the response of ReportMetrics.
  void SetBestSoFar(bool best);
  // Blocks ReportMetrics while `hold` is true.
  void BlockMetrics(bool hold);

  // Returns the received reports in order, one text per report:
  //   "metrics training 10 loss=0.5", "progress 0.5", "checkpoint UUID 10 model.pt=3 ...",
  //   "damaged UUID INSTEAD", "ack", "early_exit INVALID_HP message"; metrics of another run than 0
  //   end in " run=N".
  // Like the real master, it drops repeated metrics and checkpoints.
  std::vector<std::string> Reports() const;
  // Returns the number of dropped reports.
  int Repeats() const;
  // Waits until `count` reports have arrived, and returns them all.
  std::vector<std::string> WaitForReports(size_t count) const;

 private:
  class Service;
  struct Server;
  const std::unique_ptr<Service> service_;
  const std::unique_ptr<Server> server_;
};

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_FAKE_MASTER_H_
