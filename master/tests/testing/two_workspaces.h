// A master with two workspaces, people of every role, and both doors that they come in by: gRPC and
// HTTP.
//
// Used by tests, on their thread. Has the threads of a real master.
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
  int32_t workspace = 0;  // 0: of all
  model::UserId user;
  std::string token;
};

// What is said to a call: gRPC's code, also over HTTP, and the message.
struct Answer {
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string message;
  std::string body;  // over gRPC: the answer, serialised; of a stream its first message
};

// A master with two workspaces, and people of every role.
class TwoWorkspaces {
 public:
  static constexpr int32_t kOwn = 1;
  static constexpr int32_t kOther = 2;

  TwoWorkspaces();
  ~TwoWorkspaces();

  const std::vector<Caller>& callers() const { return callers_; }
  const Caller& OtherThan(const Caller& caller) const {
    return callers_[caller.user == callers_[0].user ? 1 : 0];
  }
  // Again, where the last call was its end.
  void SignIn(const Caller& caller) {
    world_.Session(caller.token, store::SessionRecord::Kind::kUser, caller.user);
  }
  const std::string& Name(int32_t workspace, auth::Where where) {
    return places_[workspace][where];
  }
  // Of the task of the trial in a workspace.
  std::string TaskToken(int32_t workspace) {
    return world_.TokenOf(Name(workspace, auth::Where::kAllocation));
  }
  std::vector<std::string> services() { return world_.services(); }

  Answer OverGrpc(const google::protobuf::MethodDescriptor& method,
                  const google::protobuf::Message& request, const std::string& token,
                  int patience_ms);
  // nullopt: there is no way to it over HTTP.
  std::optional<Answer> OverHttp(const google::protobuf::MethodDescriptor& method,
                                 const google::protobuf::Message& request, const std::string& token,
                                 int patience_ms);

 private:
  // What one thing of each kind in a workspace is called.
  using Place = std::map<auth::Where, std::string>;

  Place Furnish(int32_t workspace);
  void AddCaller(model::Role role, int32_t workspace);
  void Open();

  const std::shared_ptr<store::FakeDatabase> database_ = store::MakeFakeDatabase();
  World world_{database_};
  std::map<int32_t, Place> places_;
  std::vector<Caller> callers_;
  std::unique_ptr<gateway::HttpServer> gateway_;
};

}  // namespace det::tests

#endif  // MASTER_TESTS_TESTING_TWO_WORKSPACES_H_
