// An agent that the test controls. Called by tests on their thread; blocks until the master
// responds.
#ifndef MASTER_TESTS_TESTING_FAKE_AGENT_H_
#define MASTER_TESTS_TESTING_FAKE_AGENT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "det/agent/v1/agent.grpc.pb.h"
#include "gtest/gtest.h"
#include "master/tests/testing/test_master.h"
#include <grpcpp/grpcpp.h>

namespace det::tests {

namespace wire = det::agent::v1;

class FakeAgent {
 public:
  FakeAgent(TestMaster& master, const std::string& id, int slots,
            const std::string& token = "agent", const std::string& incarnation = "one",
            const std::string& version = "1.2.0")
      : FakeAgent(master, Registration(id, slots, incarnation, version), token) {}
  FakeAgent(TestMaster& master, const wire::Register& registration,
            const std::string& token = "agent")
      : context_(token),
        id_(registration.agent_id()),
        stub_(wire::AgentHub::NewStub(master.channel())),
        stream_(stub_->Connect(&context_)) {
    wire::AgentMessage message;
    *message.mutable_register_() = registration;
    stream_->Write(message);
  }
  ~FakeAgent() {
    context_.TryCancel();
    if (!ended_) (void)End();
  }

  // The registration message of such an agent.
  static wire::Register Registration(const std::string& id, int slots,
                                     const std::string& incarnation = "one",
                                     const std::string& version = "1.2.0") {
    wire::Register registration;
    registration.set_agent_id(id);
    registration.set_version(version);
    registration.set_incarnation(incarnation);
    registration.set_address("10.0.0.1");
    for (int i = 0; i < slots; ++i) registration.add_slots()->set_id(i);
    return registration;
  }

  // The next message that is not an acknowledgement.
  wire::MasterMessage Next() {
    wire::MasterMessage message;
    while (stream_->Read(&message)) {
      if (!message.has_ack()) return message;
    }
    return {};
  }
  grpc::Status End() {
    ended_ = true;
    wire::MasterMessage rest;
    while (stream_->Read(&rest)) {
    }
    return stream_->Finish();
  }
  void Started(const std::string& allocation) {
    wire::AgentMessage message;
    message.mutable_report()->set_sequence(++sequence_);
    message.mutable_report()->set_allocation_id(allocation);
    message.mutable_report()->mutable_started()->set_pid(1);
    stream_->Write(message);
  }
  void Exited(const std::string& allocation, int code, int signal = 0) {
    wire::AgentMessage message;
    message.mutable_report()->set_sequence(++sequence_);
    message.mutable_report()->set_allocation_id(allocation);
    message.mutable_report()->mutable_exited()->set_exit_code(code);
    message.mutable_report()->mutable_exited()->set_signal(signal);
    stream_->Write(message);
  }
  // Waits until the master has committed all reports.
  void AwaitAck() {
    wire::MasterMessage message;
    while (stream_->Read(&message)) {
      if (message.ack().sequence() == sequence_) return;
    }
    FAIL() << "the stream ended";
  }
  void Log(const std::string& allocation, int64_t sequence, const std::string& text) {
    CallContext context("agent");
    wire::PostLogsRequest request;
    request.set_agent_id(id_);
    request.set_allocation_id(allocation);
    auto* line = request.add_lines();
    line->set_sequence(sequence);
    line->set_text(text);
    line->set_rank(0);
    wire::PostLogsResponse response;
    ASSERT_TRUE(stub_->PostLogs(&context, request, &response).ok());
  }
  wire::AgentHub::Stub& stub() { return *stub_; }

 private:
  CallContext context_;
  const std::string id_;
  std::unique_ptr<wire::AgentHub::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<wire::AgentMessage, wire::MasterMessage>> stream_;
  int64_t sequence_ = 0;
  bool ended_ = false;
};

}  // namespace det::tests

#endif  // MASTER_TESTS_TESTING_FAKE_AGENT_H_
