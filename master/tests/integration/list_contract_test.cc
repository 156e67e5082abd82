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
  // Returns the elements as text, and sets `total` to the number of all elements.
  Rows List(const ListCall& call, int* total) {
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
    const auto& page = dynamic_cast<const api::Pagination&>(
        reflection->GetMessage(*response, type.FindFieldByName("pagination")));
    EXPECT_EQ(page.end_index() - page.start_index(), static_cast<int>(rows.size()))
        << call.method.full_name();
    *total = page.total();
    return rows;
  }
  void ExpectRefused(const MethodDescriptor& method, const std::string& field, int value) {
    const grpc::Status status = Get({method, {{field, value}}}, Make(method.output_type()).get());
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << method.full_name() << " with " << field << " " << value;
  }

  void ExpectWindows(const MethodDescriptor& method) {
    int all = 0, total = 0;
    const Rows whole = List({method, {}}, &all);
    const auto expect = [&](std::map<std::string, int> fields, size_t begin, size_t end) {
      begin = std::min(begin, whole.size());
      end = std::min(end, whole.size());
      EXPECT_THAT(List({method, std::move(fields)}, &total),
                  ElementsAreArray(whole.begin() + static_cast<long>(begin),
                                   whole.begin() + static_cast<long>(end)))
          << method.full_name();
      EXPECT_EQ(total, all) << method.full_name();
    };
    expect({{"limit", 1}}, 0, 1);
    if (!whole.empty()) {
      expect({{"offset", 1}}, 1, whole.size());
      expect({{"offset", 1}, {"limit", 1}}, 1, 2);
    }
    expect({{"offset", all}}, whole.size(), whole.size());
    if (!whole.empty()) expect({{"offset", -1}}, whole.size() - 1, whole.size());
    if (Queries().contains(method.full_name().substr(std::string("det.api.v1.").size()))) {
      expect({{"offset", 1000}}, whole.size(), whole.size());
      expect({{"limit", -1}}, 0, whole.size());
      expect({{"limit", -2}}, 0, 0);
    } else {
      ExpectRefused(method, "offset", 1000);
      ExpectRefused(method, "offset", -1000);
      ExpectRefused(method, "limit", -1);
    }
  }
  void ExpectOrders(const MethodDescriptor& method) {
    ASSERT_NE(method.input_type()->FindFieldByName("order_by"), nullptr) << method.full_name();
    int total = 0;
    const Rows up = List({method, {{"order_by", api::ORDER_BY_ASC}}}, &total);
    Rows down = List({method, {{"order_by", api::ORDER_BY_DESC}}}, &total);
    std::reverse(down.begin(), down.end());
    EXPECT_THAT(down, ElementsAreArray(up)) << method.full_name();
    ExpectRefused(method, "order_by", 99);
    for (const char* by : {"sort_by", "sort_by_attr"}) {
      const FieldDescriptor* field = method.input_type()->FindFieldByName(by);
      if (field == nullptr) continue;
      for (int i = 0; i < field->enum_type()->value_count(); ++i) {
        const int value = field->enum_type()->value(i)->number();
        EXPECT_THAT(List({method, {{by, value}}}, &total), UnorderedElementsAreArray(up))
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
      int total = 0;
      const size_t found = List({method, {}}, &total).size();
      EXPECT_EQ(found, static_cast<size_t>(total)) << shown;
      EXPECT_EQ(total > 1, !EmptyLists().contains(shown)) << shown << " has " << total;
      ExpectWindows(method);
      if (!SortsByExpression(method)) ExpectOrders(method);
    }
  }
  EXPECT_GT(lists, 25);
}

}  // namespace
}  // namespace det::tests
