#include "agent/fake_master.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace det::agent {

FakeMaster::FakeMaster() { Start(); }
FakeMaster::~FakeMaster() { Stop(); }

std::string FakeMaster::url() const { return absl::StrCat("http://127.0.0.1:", port_); }

void FakeMaster::Start() {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port_), grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  DET_CHECK(server_ != nullptr && port != 0) << "the fake master cannot listen on a port";
  port_ = port;
}

void FakeMaster::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

void FakeMaster::RequireToken(const std::string& token) {
  std::lock_guard lock(mutex_);
  token_ = token;
}
void FakeMaster::SetIdInUse(bool on) {
  std::lock_guard lock(mutex_);
  id_in_use_ = on;
}
void FakeMaster::SetAutoAck(bool on) {
  std::lock_guard lock(mutex_);
  auto_ack_ = on;
}
void FakeMaster::SetAcceptLogs(bool on) {
  std::lock_guard lock(mutex_);
  accept_logs_ = on;
}
void FakeMaster::PutContext(const std::string& hash, const std::string& archive) {
  std::lock_guard lock(mutex_);
  contexts_[hash] = archive;
}

void FakeMaster::Send(const v1::MasterMessage& message) {
  std::lock_guard lock(mutex_);
  DET_CHECK(stream_ != nullptr) << "no agent is connected";
  stream_->Write(message);
}

void FakeMaster::StartTask(const std::string& allocation, const std::vector<std::string>& argv,
                           const std::string& context_hash) {
  v1::MasterMessage message;
  v1::TaskSpec* task = message.mutable_start()->mutable_task();
  task->set_allocation_id(allocation);
  task->set_task_id("task-" + allocation);
  task->add_slots(0);
  for (const std::string& word : argv) task->add_argv(word);
  task->set_context_hash(context_hash);
  task->set_session_token("session");
  Send(message);
}

void FakeMaster::StopTask(const std::string& allocation, double grace_seconds) {
  v1::MasterMessage message;
  message.mutable_stop()->set_allocation_id(allocation);
  message.mutable_stop()->set_grace_seconds(grace_seconds);
  Send(message);
}

void FakeMaster::DropStream() {
  std::lock_guard lock(mutex_);
  if (context_ != nullptr) context_->TryCancel();
}

std::vector<std::string> FakeMaster::Received::Texts() const {
  std::vector<std::string> texts;
  for (const v1::LogLine& line : lines) texts.push_back(line.text());
  return texts;
}

const v1::TaskReport* FakeMaster::Received::Exit(const std::string& allocation) const {
  for (const v1::TaskReport& report : reports) {
    if (report.allocation_id() == allocation && report.has_exited()) return &report;
  }
  return nullptr;
}

const v1::TaskReport* FakeMaster::Received::Start(const std::string& allocation) const {
  for (const v1::TaskReport& report : reports) {
    if (report.allocation_id() == allocation && report.has_started()) return &report;
  }
  return nullptr;
}

FakeMaster::Received FakeMaster::received() const {
  std::lock_guard lock(mutex_);
  return received_;
}

bool FakeMaster::WaitUntil(const std::function<bool(const Received&)>& condition) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return condition(received_); });
}

bool FakeMaster::WaitForRegistration(size_t count) {
  return WaitUntil(
      [&](const Received& received) { return received.registrations.size() >= count; });
}

std::optional<v1::Exited> FakeMaster::WaitForExit(const std::string& allocation) {
  if (!WaitUntil([&](const Received& received) { return received.Exit(allocation) != nullptr; })) {
    return std::nullopt;
  }
  return received().Exit(allocation)->exited();
}

grpc::Status FakeMaster::Connect(grpc::ServerContext* context, Stream* stream) {
  if (!Authorized(*context)) return {grpc::StatusCode::UNAUTHENTICATED, "wrong token"};
  v1::AgentMessage message;
  while (stream->Read(&message)) {
    std::lock_guard lock(mutex_);
    if (message.has_register_() && id_in_use_) {
      ++received_.refusals;
      changed_.notify_all();
      return {grpc::StatusCode::ALREADY_EXISTS, "agent id a1 is in use by another agent"};
    }
    if (message.has_register_()) context_ = context;
    Record(stream, message);
    changed_.notify_all();
  }
  std::lock_guard lock(mutex_);
  if (context_ == context) {
    stream_ = nullptr;
    context_ = nullptr;
  }
  return grpc::Status::OK;
}

void FakeMaster::Record(Stream* stream, const v1::AgentMessage& message) {
  if (message.has_register_()) {
    stream_ = stream;
    v1::MasterMessage registered;
    registered.mutable_registered()->set_cluster_id("cluster");
    registered.mutable_registered()->set_master_version("test");
    registered.mutable_registered()->set_heartbeat_seconds(1);
    stream->Write(registered);
    received_.registrations.push_back(message.register_());
  } else if (message.has_heartbeat()) {
    ++received_.heartbeats;
  } else if (message.has_report()) {
    received_.reports.push_back(message.report());
    if (message.report().has_exited()) received_.lines_at_exit = received_.lines.size();
    if (!auto_ack_) return;
    v1::MasterMessage ack;
    ack.mutable_ack()->set_sequence(message.report().sequence());
    stream->Write(ack);
  }
}

grpc::Status FakeMaster::PostLogs(grpc::ServerContext* context, const v1::PostLogsRequest* request,
                                  v1::PostLogsResponse*) {
  if (!Authorized(*context)) return {grpc::StatusCode::UNAUTHENTICATED, "wrong token"};
  std::lock_guard lock(mutex_);
  if (!accept_logs_) return {grpc::StatusCode::UNAVAILABLE, "not now"};
  for (const v1::LogLine& line : request->lines()) {
    const auto [known, fresh] =
        line_texts_.try_emplace({request->allocation_id(), line.sequence()}, line.text());
    // If two lines have the same number, both are recorded, so that the test notices.
    if (fresh || known->second != line.text()) received_.lines.push_back(line);
  }
  changed_.notify_all();
  return grpc::Status::OK;
}

grpc::Status FakeMaster::GetContext(grpc::ServerContext*, const v1::GetContextRequest* request,
                                    grpc::ServerWriter<v1::GetContextResponse>* writer) {
  std::string archive;
  {
    std::lock_guard lock(mutex_);
    const auto found = contexts_.find(request->hash());
    if (found == contexts_.end()) return {grpc::StatusCode::NOT_FOUND, "no such context"};
    archive = found->second;
  }
  constexpr size_t kChunk = 1000;  // small, so that there are many chunks
  for (size_t at = 0; at < archive.size(); at += kChunk) {
    v1::GetContextResponse response;
    response.set_chunk(archive.substr(at, kChunk));
    if (!writer->Write(response)) break;
  }
  return grpc::Status::OK;
}

bool FakeMaster::Authorized(const grpc::ServerContext& context) const {
  std::lock_guard lock(mutex_);
  if (token_.empty()) return true;
  const auto header = context.client_metadata().find("authorization");
  return header != context.client_metadata().end() && header->second == "Bearer " + token_;
}

}  // namespace det::agent
