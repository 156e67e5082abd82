// A master for tests: a real gRPC server on a free port that records what an agent sends, and sends
// it the messages that a test requests. Used by tests of the agent only; all methods are called on
// the test's thread.
#ifndef AGENT_FAKE_MASTER_H_
#define AGENT_FAKE_MASTER_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "det/agent/v1/agent.grpc.pb.h"
#include <grpcpp/grpcpp.h>

namespace det::agent {

class FakeMaster final : private v1::AgentHub::Service {
 public:
  FakeMaster();
  ~FakeMaster() override;

  // "http://127.0.0.1:port"; does not change when the server is stopped and started.
  std::string url() const;
  void Start();
  void Stop();

  // Sets the token that calls must carry; empty: any call is accepted.
  void RequireToken(const std::string& token);
  // Sets whether registrations are rejected because the id is in use; false initially.
  void SetIdInUse(bool on);
  // Sets whether reports are acknowledged automatically; true initially.
  void SetAutoAck(bool on);
  // Sets whether PostLogs succeeds; true initially.
  void SetAcceptLogs(bool on);
  void PutContext(const std::string& hash, const std::string& archive);

  // Sends on the agent's stream. REQUIRES a connected agent.
  void Send(const v1::MasterMessage& message);
  void StartTask(const std::string& allocation, const std::vector<std::string>& argv,
                 const std::string& context_hash = "");
  void StopTask(const std::string& allocation, double grace_seconds);
  // Cancels the stream.
  void DropStream();

  // All messages received so far.
  struct Received {
    std::vector<v1::Register> registrations;
    std::vector<v1::TaskReport> reports;  // of all streams, including repeated ones
    std::vector<v1::LogLine> lines;       // without repeated ones, as a master stores them
    size_t lines_at_exit = 0;             // number of lines when the last Exited arrived
    int heartbeats = 0;
    int refusals = 0;  // rejected registrations

    std::vector<std::string> Texts() const;
    const v1::TaskReport* Exit(const std::string& allocation) const;
    const v1::TaskReport* Start(const std::string& allocation) const;
  };
  Received received() const;
  // Waits until `condition` holds; returns false after a timeout that only a broken test reaches.
  bool WaitUntil(const std::function<bool(const Received&)>& condition);
  bool WaitForRegistration(size_t count = 1);
  // Waits for the exit report.
  std::optional<v1::Exited> WaitForExit(const std::string& allocation);

 private:
  using Stream = grpc::ServerReaderWriter<v1::MasterMessage, v1::AgentMessage>;

  grpc::Status Connect(grpc::ServerContext* context, Stream* stream) override;
  grpc::Status PostLogs(grpc::ServerContext* context, const v1::PostLogsRequest* request,
                        v1::PostLogsResponse* response) override;
  grpc::Status GetContext(grpc::ServerContext* context, const v1::GetContextRequest* request,
                          grpc::ServerWriter<v1::GetContextResponse>* writer) override;
  void Record(Stream* stream, const v1::AgentMessage& message);
  bool Authorized(const grpc::ServerContext& context) const;

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Received received_;
  Stream* stream_ = nullptr;
  grpc::ServerContext* context_ = nullptr;
  std::string token_;
  bool id_in_use_ = false;
  bool auto_ack_ = true;
  bool accept_logs_ = true;
  std::map<std::string, std::string> contexts_;
  std::map<std::pair<std::string, int64_t>, std::string> line_texts_;
};

}  // namespace det::agent

#endif  // AGENT_FAKE_MASTER_H_
