// A master with two workspaces and users of every role, called over gRPC and HTTP. Used by tests on
// their thread. It has the threads of a real master.
#ifndef MASTER_TESTS_TESTING_TWO_WORKSPACES_H_
#define MASTER_TESTS_TESTING_TWO_WORKSPACES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "master/auth/permissions.h"
#include "master/core/model/role.h"
#include "master/gateway/http_server.h"
#include "master/store/testing/fake_database.h"
#include "master/tests/testing/test_master.h"

namespace google::protobuf {
class Message;
class MethodDescriptor;
}  // namespace google::protobuf

namespace det::tests {

struct Caller {
  model::Role role = model::Role::kNone;
  int32_t workspace = 0;  // 0: all workspaces
  model::UserId user;
  std::string token;
};

// The status code (as of gRPC, also over HTTP) and message of a call.
struct CallResult {
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string message;
  std::string body;  // over gRPC: the serialized response, or the first message of a stream
};

// A master with a resource of each kind in two workspaces, and users of every role.
class TwoWorkspaces {
 public:
  static constexpr int32_t kOwn = 1;
  static constexpr int32_t kOther = 2;

  TwoWorkspaces();
  ~TwoWorkspaces();

  const std::vector<Caller>& callers() const { return callers_; }
  const Caller& GetOtherCaller(const Caller& caller) const {
    return callers_[caller.user == callers_[0].user ? 1 : 0];
  }
  // Signs the caller in again, because the last call may have ended the session.
  void SignIn(const Caller& caller) {
    master_.AddSession(caller.token, store::SessionRecord::Kind::kUser, caller.user);
  }
  const std::string& GetName(int32_t workspace, auth::Scope where) {
    return names_[workspace][where];
  }
  // The token of the trial's task in a workspace.
  std::string GetTaskToken(int32_t workspace) {
    return master_.MakeTaskToken(GetName(workspace, auth::Scope::kAllocation));
  }
  std::vector<std::string> services() { return master_.services(); }

  CallResult CallOverGrpc(const google::protobuf::MethodDescriptor& method,
                          const google::protobuf::Message& request, const std::string& token,
                          int timeout_ms);
  // Returns nullopt if the method has no HTTP route.
  std::optional<CallResult> CallOverHttp(const google::protobuf::MethodDescriptor& method,
                                         const google::protobuf::Message& request,
                                         const std::string& token, int timeout_ms);

 private:
  // The name or ID of one resource of each kind in a workspace.
  using ResourceNames = std::map<auth::Scope, std::string>;

  ResourceNames AddResources(int32_t workspace);
  void AddCaller(model::Role role, int32_t workspace);
  void StartGateway();

  const std::shared_ptr<store::FakeDatabase> database_ = store::MakeFakeDatabase();
  TestMaster master_{database_};
  std::map<int32_t, ResourceNames> names_;
  std::vector<Caller> callers_;
  std::unique_ptr<gateway::HttpServer> gateway_;
};

}  // namespace det::tests

#endif  // MASTER_TESTS_TESTING_TWO_WORKSPACES_H_
