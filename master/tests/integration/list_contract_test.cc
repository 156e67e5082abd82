// The contract of every list method: windows, orders, and errors for invalid limits and orders.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/store/testing/fake_database.h"
#include "master/store/testing/make_rows.h"
#include "master/tests/testing/integration_fixture.h"
#include "proto/http_rule.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

namespace det::tests {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using ::testing::ElementsAreArray;
using ::testing::UnorderedElementsAreArray;
using Rows = std::vector<std::string>;

constexpr char kGrid[] = R"(
name: grid
entrypoint: "true"
hyperparameters: {x: {type: categorical, vals: [1, 2]}}
searcher: {name: grid, metric: loss, smaller_is_better: true, max_length: {batches: 10}}
)";

// Request parameters of lists that belong to a resource.
const std::map<std::string, std::string>& RequestParameters() {
  static const auto* const parameters = new std::map<std::string, std::string>{
      {"AgentService.GetSlots", R"({"agentId": "a1"})"},
      {"CheckpointService.GetExperimentCheckpoints", R"({"id": 1})"},
      {"CheckpointService.GetTrialCheckpoints", R"({"id": 1})"},
      {"ModelService.GetModelVersions", R"({"modelName": "one"})"},
      {"ResourcePoolService.ListWorkspacesBoundToRP", R"({"resourcePoolName": "bound"})"},
      {"TrialService.GetExperimentTrials", R"({"experimentId": 1})"},
      {"TrialService.GetTrialWorkloads", R"({"trialId": 1})"},
      {"WebhookService.GetWebhookDeliveries", R"({"id": 1})"},
      {"WorkspaceService.GetWorkspaceProjects", R"({"id": 1})"},
      {"WorkspaceService.ListRPsBoundToWorkspace", R"({"workspaceId": 1})"},
  };
  return *parameters;
}
// Lists that are always empty in this cluster.
const std::set<std::string>& EmptyLists() {
  static const auto* const empty =
      new std::set<std::string>{"CommandService.GetCommands", "CommandService.GetNotebooks",
                                "CommandService.GetShells", "CommandService.GetTensorboards"};
  return *empty;
}
// Lists that are read by a query: the limit -1 means all, -2 none, and no offset is an error.
const std::set<std::string>& Queries() {
  static const auto* const queries = new std::set<std::string>{
      "ExperimentService.GetExperiments", "ResourcePoolService.ListWorkspacesBoundToRP",
      "RunService.SearchExperiments",     "RunService.SearchRuns",
      "TemplateService.GetTemplates",     "TrialService.GetExperimentTrials",
      "TrialService.GetTrialWorkloads",   "WorkspaceService.ListRPsBoundToWorkspace"};
  return *queries;
}
// The limits in the paginations of responses to requests without a limit; of all others: 0.
const std::map<std::string, int>& LimitsOfNoLimit() {
  static const auto* const limits =
      new std::map<std::string, int>{{"MasterService.GetAudit", 100},
                                     {"JobService.GetJobs", 100},
                                     {"JobService.GetJobsV2", 100},
                                     {"TrialService.GetTrialWorkloads", -1},
                                     {"WebhookService.GetWebhookDeliveries", 100}};
  return *limits;
}
// The caller gives the order as an expression.
bool SortsByExpression(const MethodDescriptor& method) {
  return method.input_type()->FindFieldByName("sort") != nullptr;
}

class ListContractTest : public testing::Test {
 protected:
  ListContractTest() {
    agents_.push_back(std::make_unique<FakeAgent>(master_, "a1", 2));
    agents_.push_back(std::make_unique<FakeAgent>(master_, "a0", 1));
    for (const auto& agent : agents_) EXPECT_TRUE(agent->Next().has_registered());
    AddWorkspaces();
    AddExperiments();
    AddRegistryEntries();
    for (const char* name : {"ann", "bob"}) {
      const auto user = master_.store().users().AddUser({.username = name});
      CallOrFail("TokenService.PostAccessToken",
                 absl::StrCat(R"({"userId": )", user->id.value(), "}"));
      CallOrFail(
          "ResourcePoolService.PutQuota",
          absl::StrCat(R"({"quota": {"scope": "user", "maxSlots": 1, "name": ")", name, R"("}})"));
    }
  }

  void AddWorkspaces() {
    store::WorkspaceRecord workspace;
    workspace.name = "other";
    ASSERT_TRUE(master_.store().workspaces().AddWorkspace(workspace).ok());
    store::ProjectRecord project;
    project.name = "project";
    project.key = "KEY";
    project.workspace = 1;
    ASSERT_TRUE(master_.store().projects().AddProject(project).ok());
    CallOrFail("ResourcePoolService.PutResourcePool", R"({"name": "bound"})");
    CallOrFail("ResourcePoolService.BindRPToWorkspace",
               R"({"resourcePoolName": "bound", "workspaceNames": ["Uncategorized", "other"]})");
  }
  void AddExperiments() {
    for (int i = 0; i < 2; ++i) {
      api::CreateExperimentRequest request;
      request.set_config(kGrid);
      request.set_activate(true);
      CallOrFail("ExperimentService.CreateExperiment", *proto::ToJson(request));
    }
    std::vector<model::MetricReport> reports;
    for (int step = 1; step <= 3; ++step) {
      reports.push_back(store::MakeReport(1, "training", step, 0));
    }
    ASSERT_TRUE(master_.store().AddMetrics(reports).ok());
    const std::lock_guard lock(database_->mutex);
    for (const int step : {1, 2}) {
      const std::string name = absl::StrCat("checkpoint", step);
      database_->Apply(cluster::AddCheckpoint{store::MakeCheckpoint(name, 1, step)});
    }
  }
  void AddRegistryEntries() {
    for (const char* name : {"one", "two"}) {
      store::ModelRecord model;
      model.name = name;
      model.workspace = 1;
      ASSERT_TRUE(master_.store().models().AddModel(model).ok());
      ASSERT_TRUE(master_.store().templates().AddTemplate({name, "{}"}).ok());
      store::WebhookRecord hook;
      hook.name = name;
      hook.url = "http://127.0.0.1:1/";
      hook.workspace = 1;
      hook.triggers = {{.type = model::WebhookTrigger::kCustom}};
      ASSERT_TRUE(master_.store().webhooks().AddWebhook(hook).ok());
    }
    for (const int step : {1, 2}) {
      store::ModelVersionRecord version;
      version.model = 1;
      version.checkpoint = model::CheckpointId(absl::StrCat("checkpoint", step));
      ASSERT_TRUE(master_.store().models().AddVersion(version).ok());
      const auto raised = master_.store().webhooks().Raise(
          {.trigger = model::WebhookTrigger::kCustom, .experiment = model::ExperimentId(1)});
      ASSERT_TRUE(raised.ok()) << raised.status();
      ASSERT_EQ(*raised, 2);
    }
  }

  const MethodDescriptor& Method(const std::string& name) {
    const auto* found = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
        absl::StrCat("det.api.v1.", name));
    EXPECT_NE(found, nullptr) << name;
    return *found;
  }
  std::unique_ptr<Message> Make(const google::protobuf::Descriptor* type) {
    return std::unique_ptr<Message>(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
  }
  // Calls as the administrator.
  grpc::Status Call(const MethodDescriptor& method, const Message& request, Message* response) {
    CallContext context("user");
    const MethodResponse result =
        CallMethod(master_.channel(), method, context, request.SerializeAsString());
    if (result.status.ok()) {
      EXPECT_TRUE(response->ParseFromString(result.bytes));
    }
    return result.status;
  }
  void CallOrFail(const std::string& name, const std::string& json) {
    const MethodDescriptor& method = Method(name);
    const auto request = Make(method.input_type());
    const absl::Status read = proto::FromJson(json, request.get());
    EXPECT_TRUE(read.ok()) << name << ": " << read;
    const grpc::Status status = Call(method, *request, Make(method.output_type()).get());
    EXPECT_TRUE(status.ok()) << name << ": " << status.error_message();
  }

  // A method and the fields of its request: "offset", "limit", "order_by", ...
  struct ListCall {
    const MethodDescriptor& method;
    std::map<std::string, int> fields;
  };
  grpc::Status Get(const ListCall& call, Message* response) {
    const std::string name = call.method.full_name().substr(std::string("det.api.v1.").size());
    const auto request = Make(call.method.input_type());
    const auto parameters = RequestParameters().find(name);
    if (parameters != RequestParameters().end()) {
      EXPECT_TRUE(proto::FromJson(parameters->second, request.get()).ok()) << name;
    }
    const auto* reflection = request->GetReflection();
    for (const auto& [path, value] : call.fields) {
      const FieldDescriptor* field = call.method.input_type()->FindFieldByName(path);
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
        reflection->SetEnumValue(request.get(), field, value);
      } else {
        reflection->SetInt32(request.get(), field, value);
      }
    }
    return Call(call.method, *request, response);
  }
  // The ID of an element if it has one, because its other fields may change in the meantime.
  static std::string Row(const Message& response, const FieldDescriptor* list, int i) {
    std::string row;
    const Message* at = &response;
    const FieldDescriptor* field = list;
    int index = i;
    if (list->message_type() != nullptr && list->message_type()->FindFieldByName("id") != nullptr) {
      at = &response.GetReflection()->GetRepeatedMessage(response, list, i);
      field = list->message_type()->FindFieldByName("id");
      index = -1;
    }
    google::protobuf::TextFormat::PrintFieldValueToString(*at, field, index, &row);
    return row;
  }
  // Returns the elements as text, and sets `page` to the pagination of the response.
  Rows List(const ListCall& call, api::Pagination* page) {
    const auto response = Make(call.method.output_type());
    const grpc::Status status = Get(call, response.get());
    EXPECT_TRUE(status.ok()) << call.method.full_name() << ": " << status.error_message();
    Rows rows;
    const auto* reflection = response->GetReflection();
    const auto& type = *call.method.output_type();
    const FieldDescriptor* list = nullptr;
    for (int i = 0; i < type.field_count() && list == nullptr; ++i) {
      if (type.field(i)->is_repeated()) list = type.field(i);
    }
    for (int i = 0; i < reflection->FieldSize(*response, list); ++i) {
      rows.push_back(Row(*response, list, i));
    }
    *page = dynamic_cast<const api::Pagination&>(
        reflection->GetMessage(*response, type.FindFieldByName("pagination")));
    EXPECT_EQ(page->end_index() - page->start_index(), static_cast<int>(rows.size()))
        << call.method.full_name();
    return rows;
  }
  void ExpectRefused(const MethodDescriptor& method, const std::string& field, int value) {
    const grpc::Status status = Get({method, {{field, value}}}, Make(method.output_type()).get());
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << method.full_name() << " with " << field << " " << value;
  }

  void ExpectWindows(const MethodDescriptor& method) {
    api::Pagination page;
    const Rows whole = List({method, {}}, &page);
    const int all = page.total();
    const std::string name = method.full_name().substr(std::string("det.api.v1.").size());
    // Expects the elements from `begin` to `end`.
    const auto expect = [&](const std::map<std::string, int>& fields, int begin, int end) {
      std::string shown = name;
      for (const auto& [field, value] : fields) absl::StrAppend(&shown, " ", field, "=", value);
      begin = std::min(begin, all);
      end = std::min(end, all);
      EXPECT_THAT(List({method, fields}, &page),
                  ElementsAreArray(whole.begin() + begin, whole.begin() + end))
          << shown;
      const auto get = [&fields](const char* field) {
        const auto it = fields.find(field);
        return it == fields.end() ? 0 : it->second;
      };
      const auto echo = LimitsOfNoLimit().find(name);
      EXPECT_EQ(page.total(), all) << shown;
      EXPECT_EQ(page.start_index(), begin) << shown;
      EXPECT_EQ(page.end_index(), end) << shown;
      EXPECT_EQ(page.offset(), get("offset")) << shown;
      EXPECT_EQ(page.limit(),
                get("limit") == 0 && echo != LimitsOfNoLimit().end() ? echo->second : get("limit"))
          << shown;
    };
    expect({}, 0, all);
    expect({{"limit", 0}}, 0, all);
    expect({{"limit", 1}}, 0, 1);
    expect({{"limit", all + 100}}, 0, all);
    expect({{"offset", all}}, all, all);
    if (all > 0) {
      expect({{"offset", 1}}, 1, all);
      expect({{"offset", 1}, {"limit", 1}}, 1, 2);
      expect({{"offset", -1}}, all - 1, all);
      expect({{"offset", -1}, {"limit", 1}}, all - 1, all);
    }
    if (all > 1) {
      expect({{"offset", -2}}, all - 2, all);
      expect({{"offset", -2}, {"limit", 1}}, all - 2, all - 1);
    }
    if (Queries().contains(name)) {
      expect({{"offset", 1000}}, all, all);
      expect({{"limit", -1}}, 0, all);
      expect({{"limit", -2}}, 0, 0);
    } else {
      ExpectRefused(method, "offset", 1000);
      ExpectRefused(method, "offset", -1000);
      ExpectRefused(method, "limit", -1);
      ExpectRefused(method, "limit", -2);
    }
  }
  void ExpectOrders(const MethodDescriptor& method) {
    ASSERT_NE(method.input_type()->FindFieldByName("order_by"), nullptr) << method.full_name();
    api::Pagination page;
    const Rows up = List({method, {{"order_by", api::ORDER_BY_ASC}}}, &page);
    Rows down = List({method, {{"order_by", api::ORDER_BY_DESC}}}, &page);
    std::reverse(down.begin(), down.end());
    EXPECT_THAT(down, ElementsAreArray(up)) << method.full_name();
    ExpectRefused(method, "order_by", 99);
    for (const char* by : {"sort_by", "sort_by_attr"}) {
      const FieldDescriptor* field = method.input_type()->FindFieldByName(by);
      if (field == nullptr) continue;
      for (int i = 0; i < field->enum_type()->value_count(); ++i) {
        const int value = field->enum_type()->value(i)->number();
        EXPECT_THAT(List({method, {{by, value}}}, &page), UnorderedElementsAreArray(up))
            << method.full_name() << " by " << field->enum_type()->value(i)->name();
      }
      ExpectRefused(method, by, 99);
    }
  }

  const std::shared_ptr<store::FakeDatabase> database_ = store::MakeFakeDatabase();
  TestMaster master_{database_};
  std::vector<std::unique_ptr<FakeAgent>> agents_;
};

TEST_F(ListContractTest, SupportsWindowsAndOrders) {
  int lists = 0;
  for (const std::string& name : master_.services()) {
    const auto* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
    for (int i = 0; i < service->method_count(); ++i) {
      const MethodDescriptor& method = *service->method(i);
      if (method.output_type()->FindFieldByName("pagination") == nullptr) continue;
      ++lists;
      const std::string shown = method.full_name().substr(std::string("det.api.v1.").size());
      // It requires a limit; its own test checks its windows.
      if (shown == "GroupService.GetGroups") continue;
      api::Pagination page;
      List({method, {}}, &page);
      EXPECT_EQ(page.total() > 1, !EmptyLists().contains(shown))
          << shown << " has " << page.total();
      ExpectWindows(method);
      if (!SortsByExpression(method)) ExpectOrders(method);
    }
  }
  EXPECT_GT(lists, 25);
}

// Every other method with a window is here, so that a new one gets a test of its window.
TEST_F(ListContractTest, KnowsAllMethodsWithWindows) {
  std::vector<std::string> others;
  for (const std::string& name : master_.services()) {
    const auto* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
    for (int i = 0; i < service->method_count(); ++i) {
      const MethodDescriptor& method = *service->method(i);
      const auto has = [&method](const char* field) {
        return method.input_type()->FindFieldByName(field) != nullptr;
      };
      if (method.output_type()->FindFieldByName("pagination") != nullptr) {
        EXPECT_TRUE(has("limit") && has("offset")) << method.full_name();
      } else if (has("limit") || has("offset")) {
        others.push_back(method.full_name().substr(std::string("det.api.v1.").size()));
      }
    }
  }
  // logs_test.cc and miscellaneous_calls_test.cc check the windows of logs.
  const std::string activity = "ProjectService.GetProjectsByUserActivity";
  EXPECT_THAT(others, UnorderedElementsAreArray({std::string("MasterService.MasterLogs"),
                                                 std::string("TaskService.TaskLogs"),
                                                 std::string("TrialService.TrialLogs"), activity}));
  for (const int limit : {-1, -2}) ExpectRefused(Method(activity), "limit", limit);
}

}  // namespace
}  // namespace det::tests
