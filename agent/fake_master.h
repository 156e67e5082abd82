// A master for tests: a real gRPC server on a free port that records what an agent says and sends
// it what the test wants. Used by tests of the agent only; every method from the test's thread.
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

  // "http://127.0.0.1:port"; stays the same over Stop and Start.
  std::string url() const;
  void Start();
  void Stop();

  // What the agent's calls must carry; empty: anything goes.
  void RequireToken(const std::string& token);
  // Whether registrations are refused because the id is in use; false at first.
  void SetIdInUse(bool on);
  // Whether reports are acknowledged as they come; true at first.
  void SetAutoAck(bool on);
  // Whether PostLogs works; true at first.
  void SetTakeLogs(bool on);
  void PutContext(const std::string& hash, const std::string& archive);

  // To the agent's stream, which must stand.
  void Send(const v1::MasterMessage& message);
  void StartTask(const std::string& allocation, const std::vector<std::string>& argv,
                 const std::string& context_hash = "");
  void StopTask(const std::string& allocation, double grace_seconds);
  // Breaks the stream.
  void Drop();

  // All that came so far.
  struct Heard {
    std::vector<v1::Register> registrations;
    std::vector<v1::TaskReport> reports;  // of all streams, repeated ones too
    std::vector<v1::LogLine> lines;       // without those that came again, as a master stores them
    size_t lines_at_exit = 0;             // how many lines were there when the last Exited came
    int heartbeats = 0;
    int refusals = 0;  // of ids in use

    std::vector<std::string> Texts() const;
    const v1::TaskReport* Exit(const std::string& allocation) const;
    const v1::TaskReport* Start(const std::string& allocation) const;
  };
  Heard heard() const;
  // Until `condition` holds; false after a time that only a broken test needs.
  bool WaitUntil(const std::function<bool(const Heard&)>& condition);
  bool WaitForRegistration(size_t count = 1);
  // The exit report, once it has come.
  std::optional<v1::Exited> WaitForExit(const std::string& allocation);

 private:
  using Stream = grpc::ServerReaderWriter<v1::MasterMessage, v1::AgentMessage>;

  grpc::Status Connect(grpc::ServerContext* context, Stream* stream) override;
  grpc::Status PostLogs(grpc::ServerContext* context, const v1::PostLogsRequest* request,
                        v1::PostLogsResponse* response) override;
  grpc::Status GetContext(grpc::ServerContext* context, const v1::GetContextRequest* request,
                          grpc::ServerWriter<v1::GetContextResponse>* writer) override;
  void Hear(Stream* stream, const v1::AgentMessage& message);
  bool Authorized(const grpc::ServerContext& context) const;

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Heard heard_;
  Stream* stream_ = nullptr;
  grpc::ServerContext* context_ = nullptr;
  std::string token_;
  bool id_in_use_ = false;
  bool auto_ack_ = true;
  bool take_logs_ = true;
  std::map<std::string, std::string> contexts_;
  std::map<std::pair<std::string, int64_t>, std::string> line_texts_;
};

}  // namespace det::agent

#endif  // AGENT_FAKE_MASTER_H_
