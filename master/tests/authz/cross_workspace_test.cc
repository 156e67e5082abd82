// Isolation: a task cannot access another task through any method and any field that names it, and
// no list returns resources of a workspace that the user cannot see.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/auth/permissions.h"
#include "master/tests/testing/two_workspaces.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>

namespace det::tests {
namespace {

using auth::Scope;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using ::testing::HasSubstr;
using ::testing::Not;
// A path of nested fields, from the request down.
using Path = std::vector<const FieldDescriptor*>;

constexpr int32_t kOwn = TwoWorkspaces::kOwn;
constexpr int32_t kOther = TwoWorkspaces::kOther;
constexpr int kDepth = 4;
constexpr int kOpenMs = 200;  // timeout of a call that may wait
constexpr int kRefusedMs = 60'000;

// The kind of resource that a field names.
const std::map<std::string, Scope>& FieldScopes() {
  static const auto* const names = new std::map<std::string, Scope>{
      {"allocation_id", Scope::kAllocation},
      {"task_id", Scope::kTask},
      {"trial_id", Scope::kTrial},
      {"run_id", Scope::kTrial},
      {"experiment_id", Scope::kExperiment},
      {"uuid", Scope::kCheckpoint},
      {"checkpoint_uuid", Scope::kCheckpoint},
  };
  return *names;
}
// Fields that the master ignores, because the token identifies the task, or that name a new
// resource. The UUID of an existing checkpoint is accepted from its own trial only.
const std::set<std::string>& IgnoredFields() {
  static const auto* const unread = new std::set<std::string>{
      "det.api.v1.TaskLog.allocation_id",
      "det.api.v1.Checkpoint.uuid",
      "det.api.v1.Checkpoint.allocation_id",
      "det.api.v1.CheckpointTrainingMetadata.trial_id",
      "det.api.v1.CheckpointTrainingMetadata.experiment_id",
      "det.trial.v1.ReportCheckpointRequest.uuid",
  };
  return *unread;
}

void CollectPaths(const Descriptor& type, const Path& above, std::vector<Path>* out) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    Path path = above;
    path.push_back(field);
    if (FieldScopes().contains(field->name()) && !IgnoredFields().contains(field->full_name())) {
      out->push_back(path);
    } else if (field->message_type() != nullptr && !field->is_map() && path.size() < kDepth &&
               absl::StartsWith(field->message_type()->full_name(), "det.")) {
      CollectPaths(*field->message_type(), path, out);
    }
  }
}

// Sets the field, in the first element of each list.
void Set(const Path& path, const std::string& value, Message* message) {
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    const auto* r = message->GetReflection();
    const bool many = path[i]->is_repeated();
    const bool first = many && r->FieldSize(*message, path[i]) == 0;
    message = first  ? r->AddMessage(message, path[i])
              : many ? r->MutableRepeatedMessage(message, path[i], 0)
                     : r->MutableMessage(message, path[i]);
  }
  const FieldDescriptor* field = path.back();
  const auto* r = message->GetReflection();
  r->ClearField(message, field);
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    field->is_repeated() ? r->AddString(message, field, value)
                         : r->SetString(message, field, value);
  } else {
    ASSERT_EQ(field->cpp_type(), FieldDescriptor::CPPTYPE_INT32) << field->full_name();
    const int number = std::stoi(value);
    field->is_repeated() ? r->AddInt32(message, field, number)
                         : r->SetInt32(message, field, number);
  }
}

std::string FormatPath(const Path& path) {
  return absl::StrJoin(path, ".", [](std::string* out, const FieldDescriptor* field) {
    absl::StrAppend(out, field->name());
  });
}

class CrossWorkspaceTest : public testing::Test {
 protected:
  template <class Visit>
  void ForEach(const Visit& visit) {
    for (const std::string& name : cluster_.services()) {
      const auto* service =
          google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
      for (int i = 0; i < service->method_count(); ++i) {
        const MethodDescriptor& method = *service->method(i);
        if (!method.client_streaming()) visit(method, auth::GetRequirement(method.full_name()));
      }
    }
  }
  std::unique_ptr<Message> New(const Descriptor* type) {
    return std::unique_ptr<Message>(factory_.GetPrototype(type)->New());
  }
  static bool IsForTasks(const auth::Requirement& needs) {
    return needs.kind == auth::PrincipalKind::kAllocation || needs.own_task;
  }
  // A request whose fields all name the task's own resources, except the field `foreign`.
  std::unique_ptr<Message> Request(const MethodDescriptor& method, const Path* foreign) {
    std::vector<Path> paths;
    CollectPaths(*method.input_type(), {}, &paths);
    auto request = New(method.input_type());
    for (const Path& path : paths) {
      const int32_t workspace = foreign != nullptr && path == *foreign ? kOther : kOwn;
      Set(path, cluster_.GetName(workspace, FieldScopes().at(path.back()->name())), request.get());
    }
    return request;
  }
  CallResult CallAsTask(const MethodDescriptor& method, const Message& request, int timeout_ms) {
    return cluster_.CallOverGrpc(method, request, cluster_.GetTaskToken(kOwn), timeout_ms);
  }
  static bool IsDenied(absl::StatusCode code) {
    return code == absl::StatusCode::kPermissionDenied || code == absl::StatusCode::kNotFound;
  }

  TwoWorkspaces cluster_;
  google::protobuf::DynamicMessageFactory factory_;
};

TEST_F(CrossWorkspaceTest, DeniesTaskAccessToOtherTasks) {
  int refused = 0;
  ForEach([&](const MethodDescriptor& method, const auth::Requirement& needs) {
    if (!IsForTasks(needs)) return;
    std::vector<Path> paths;
    CollectPaths(*method.input_type(), {}, &paths);
    for (const Path& path : paths) {
      const auto request = Request(method, &path);
      const CallResult answer = CallAsTask(method, *request, kRefusedMs);
      EXPECT_TRUE(IsDenied(answer.code))
          << method.full_name() << " with a foreign " << FormatPath(path) << ": " << answer.message;
      ++refused;
    }
  });
  EXPECT_GT(refused, 25);
}

TEST_F(CrossWorkspaceTest, AllowsTaskAccessToItsOwnResources) {
  ForEach([&](const MethodDescriptor& method, const auth::Requirement& needs) {
    if (!IsForTasks(needs)) return;
    const auto request = Request(method, nullptr);
    const CallResult answer = CallAsTask(method, *request, kOpenMs);
    EXPECT_NE(answer.code, absl::StatusCode::kPermissionDenied)
        << method.full_name() << ": " << answer.message;
  });
}

TEST_F(CrossWorkspaceTest, DeniesUserMethodsToTasks) {
  int refused = 0;
  ForEach([&](const MethodDescriptor& method, const auth::Requirement& needs) {
    if (needs.is_public || IsForTasks(needs)) return;
    const CallResult answer = CallAsTask(method, *New(method.input_type()), kRefusedMs);
    EXPECT_EQ(answer.code, absl::StatusCode::kPermissionDenied)
        << method.full_name() << ": " << answer.message;
    ++refused;
  });
  EXPECT_GT(refused, 150);
}

// Lists that are not limited to one workspace.
bool ListsAllVisibleWorkspaces(const MethodDescriptor& method, const auth::Requirement& needs) {
  static const auto* const searches = new std::set<std::string>{
      "SearchRuns", "SearchExperiments", "GetExperimentLabels", "GetExperimentCheckpoints"};
  return needs.scope == Scope::kVisible || searches->contains(method.name());
}

TEST_F(CrossWorkspaceTest, ListsOnlyVisibleWorkspaces) {
  int shown = 0;
  ForEach([&](const MethodDescriptor& method, const auth::Requirement& needs) {
    if (!ListsAllVisibleWorkspaces(method, needs)) return;
    const auto list = [&](int32_t workspace) {
      const auto answer = New(method.output_type());
      for (const Caller& caller : cluster_.callers()) {
        // The administrator of this workspace alone, or of all.
        if (caller.role != model::Role::kWorkspaceAdmin || caller.workspace != workspace) continue;
        const CallResult result =
            cluster_.CallOverGrpc(method, *New(method.input_type()), caller.token, kOpenMs);
        EXPECT_TRUE(answer->ParseFromString(result.body)) << method.full_name();
      }
      return answer->DebugString();
    };
    const std::string own = list(kOwn);
    for (const char* foreign : {"thing2", "000000000002", "KEY2", "workspace_id: 2", "\"other\"",
                                "\"exp-2\"", "experiment_id: 2", "trial_id: 2", "\"2.2"}) {
      EXPECT_THAT(own, Not(HasSubstr(foreign))) << method.full_name();
    }
    shown += list(0) != own;
  });
  EXPECT_GE(shown, 8) << "a caller who sees all workspaces gets more";
}

}  // namespace
}  // namespace det::tests
