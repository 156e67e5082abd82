#include "master/tests/testing/two_workspaces.h"

#include <sys/time.h>

#include <chrono>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "det/api/v1/experiment.grpc.pb.h"
#include "gtest/gtest.h"
#include "master/store/testing/make_rows.h"
#include "master/tests/testing/integration_fixture.h"
#include "proto/http_rule.h"
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

namespace det::tests {

using auth::Scope;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using model::Role;
using tcp = boost::asio::ip::tcp;

TwoWorkspaces::TwoWorkspaces() {
  store::WorkspaceRecord other;
  other.name = "other";
  EXPECT_EQ(master_.store().workspaces().AddWorkspace(other)->id, kOther);
  for (const int32_t workspace : {kOwn, kOther}) names_[workspace] = AddResources(workspace);
  for (const Role role :
       {Role::kNone, Role::kViewer, Role::kEditor, Role::kWorkspaceAdmin, Role::kClusterAdmin}) {
    for (const int32_t workspace : {kOwn, 0}) AddCaller(role, workspace);
  }
  StartGateway();
}

TwoWorkspaces::~TwoWorkspaces() {
  gateway_->StopAccepting();
  master_.server()->Shutdown(std::chrono::system_clock::now());
  gateway_->Stop();
}

TwoWorkspaces::ResourceNames TwoWorkspaces::AddResources(int32_t workspace) {
  const std::string name = absl::StrCat("thing", workspace);
  store::ProjectRecord project;
  project.name = name;
  project.key = absl::StrCat("KEY", workspace);
  project.workspace = workspace;
  project = *master_.store().projects().AddProject(project);
  CallContext context("user");
  api::CreateExperimentRequest request;
  request.set_config(kConfig);
  request.set_project_id(project.id);
  request.set_activate(true);
  api::CreateExperimentResponse created;
  const auto experiments = api::ExperimentService::NewStub(master_.channel());
  const grpc::Status status = experiments->CreateExperiment(&context, request, &created);
  EXPECT_TRUE(status.ok()) << status.error_message();
  const int experiment = created.experiment().id();
  const int trial = master_.store()
                        .ListTrials(store::MakeBareTrialQuery(model::ExperimentId(experiment)))
                        ->trials.at(0)
                        .trial.id.value();
  const std::string checkpoint = absl::StrCat("0b2f6c1e-7a54-4d0b-9c3e-00000000000", workspace);
  {
    std::lock_guard lock(database_->mutex);
    database_->Apply(cluster::AddCheckpoint{store::MakeCheckpoint(checkpoint, trial, 1)});
  }
  store::ModelRecord model;
  model.name = name;
  model.workspace = workspace;
  EXPECT_TRUE(master_.store().models().AddModel(model).ok());
  EXPECT_TRUE(master_.store().templates().AddTemplate({name, "{}", workspace}).ok());
  store::WebhookRecord webhook;
  webhook.name = name;
  webhook.workspace = workspace;
  webhook.url = "http://127.0.0.1:1/";
  const int hook = master_.store().webhooks().AddWebhook(webhook)->id;
  const std::string task = absl::StrCat(experiment, ".", trial);
  return {{Scope::kWorkspace, absl::StrCat(workspace)},
          {Scope::kProject, absl::StrCat(project.id)},
          {Scope::kProjectKey, project.key},
          {Scope::kExperiment, absl::StrCat(experiment)},
          {Scope::kTrial, absl::StrCat(trial)},
          {Scope::kCheckpoint, checkpoint},
          {Scope::kJob, absl::StrCat("exp-", experiment)},
          {Scope::kTask, task},
          {Scope::kAllocation, task + ".1"},
          {Scope::kModel, name},
          {Scope::kTemplate, name},
          {Scope::kWebhook, absl::StrCat(hook)}};
}

void TwoWorkspaces::AddCaller(Role role, int32_t workspace) {
  const std::string name = absl::StrCat(std::string(ToString(role)), "-of-", workspace);
  const auto user = master_.store().users().AddUser({.username = name});
  ASSERT_TRUE(user.ok()) << user.status();
  if (role != Role::kNone) {
    ASSERT_TRUE(master_.store().access().AddRole({user->id, workspace, role}).ok());
  }
  callers_.push_back({role, workspace, user->id, name});
  SignIn(callers_.back());
}

void TwoWorkspaces::StartGateway() {
  std::vector<const google::protobuf::ServiceDescriptor*> services;
  for (const std::string& name : master_.services()) {
    services.push_back(google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name));
  }
  // The order of the master: the gateway decides by the header, and the service only about
  // resources.
  gateway::HttpHooks hooks;
  hooks.authorize = [this](const std::string& method, const std::string& authorization,
                           auto reply) {
    const auto decision =
        master_.authorizer().AuthorizeHeader(auth::GetRequirement(method), authorization);
    if (!decision.status.ok()) return reply(decision.status);
    const bool identified = decision.caller.kind != auth::PrincipalKind::kNobody;
    reply(gateway::AuthorizedCaller{.identified = identified, .ticket = decision.ticket});
  };
  auto started =
      gateway::HttpServer::Start({.port = 0, .threads = 1}, hooks, master_.server(), services);
  ASSERT_TRUE(started.ok()) << started.status();
  gateway_ = *std::move(started);
}

CallResult TwoWorkspaces::CallOverGrpc(const MethodDescriptor& method, const Message& request,
                                       const std::string& token, int timeout_ms) {
  grpc::GenericStub stub(master_.channel());
  CallContext context(token);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(timeout_ms));
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(
      &context, absl::StrCat("/", method.service()->full_name(), "/", method.name()), &queue);
  void* tag = nullptr;
  bool ok = false;
  const auto wait = [&] { return queue.Next(&tag, &ok) && ok; };
  call->StartCall(nullptr);
  wait();
  const grpc::Slice slice(request.SerializeAsString());
  call->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
  wait();
  grpc::ByteBuffer answer;
  std::string body;
  call->Read(&answer, nullptr);
  if (wait()) {
    grpc::Slice whole;
    if (answer.DumpToSingleSlice(&whole).ok()) {
      body.assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
    }
    context.TryCancel();
    while (ok) {
      call->Read(&answer, nullptr);
      wait();
    }
  }
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  return {static_cast<absl::StatusCode>(status.error_code()), status.error_message(), body};
}

std::optional<CallResult> TwoWorkspaces::CallOverHttp(const MethodDescriptor& method,
                                                      const Message& request,
                                                      const std::string& token, int timeout_ms) {
  const auto http_request = proto::ToHttp(method, request);
  if (!http_request.ok()) return std::nullopt;
  boost::asio::io_context io;
  tcp::socket socket(io);
  socket.connect(
      {boost::asio::ip::address_v4::loopback(), static_cast<uint16_t>(gateway_->port())});
  const timeval timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
  ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  boost::asio::write(
      socket,
      boost::asio::buffer(absl::StrCat(
          http_request->verb, " ", http_request->path,
          " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", "Authorization: Bearer ", token,
          "\r\nContent-Length: ", http_request->body.size(), "\r\n\r\n", http_request->body)));
  std::string text;
  char part[4096];
  // If the response is not an error, the first line is enough.
  while (text.find("\r\n") == text.npos || text.starts_with("HTTP/1.1 4")) {
    const ssize_t got = ::recv(socket.native_handle(), part, sizeof part, 0);
    if (got <= 0) break;
    text.append(part, static_cast<size_t>(got));
  }
  const size_t body = text.find("\r\n\r\n");
  CallResult result{.message = body == text.npos ? "" : text.substr(body)};
  for (const auto& [head, code] : {std::pair{"HTTP/1.1 401", absl::StatusCode::kUnauthenticated},
                                   {"HTTP/1.1 403", absl::StatusCode::kPermissionDenied},
                                   {"HTTP/1.1 404", absl::StatusCode::kNotFound}}) {
    if (text.starts_with(head)) result.code = code;
  }
  return result;
}

}  // namespace det::tests
