#include "proto/http_rule.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "det/api/v1/auth.pb.h"
#include "det/api/v1/checkpoint.pb.h"
#include "det/api/v1/command.pb.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/log_fields.pb.h"
#include "det/api/v1/master.pb.h"
#include "det/api/v1/run.pb.h"
#include "det/api/v1/run_action.pb.h"
#include "det/api/v1/task.pb.h"
#include "det/api/v1/task_runtime.pb.h"
#include "det/api/v1/trial.pb.h"
#include "det/api/v1/user.pb.h"
#include "det/trial/v1/trial.pb.h"
#include "google/api/annotations.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace det::proto {
namespace {

namespace api = det::api::v1;
using google::protobuf::MethodDescriptor;
using google::protobuf::util::MessageDifferencer;

const google::protobuf::ServiceDescriptor& Service(const std::string& name) {
  const auto* file =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName("det.api.v1." + name);
  EXPECT_NE(file, nullptr) << name;
  return *file;
}

const MethodDescriptor& Method(const std::string& service, const std::string& method) {
  return *Service(service).FindMethodByName(method);
}

class HttpRuleTest : public testing::Test {
 protected:
  HttpRuleTest() {
    // The use of their messages links the descriptors.
    api::GetMasterRequest().GetDescriptor();
    api::GetActiveTasksCountRequest().GetDescriptor();
    api::TaskLogsFieldsRequest().GetDescriptor();
    api::PostRunMetadataRequest().GetDescriptor();
    api::ArchiveRunsRequest().GetDescriptor();
    for (const char* name :
         {"ExperimentService", "TrialService", "CheckpointService", "MasterService", "AuthService",
          "TaskService", "UserService", "CommandService", "LogFieldsService", "RunService",
          "RunActionService", "TaskRuntimeService"}) {
      EXPECT_TRUE(router_.Add(Service(name)).ok()) << name;
    }
  }

  // A server must parse exactly the message from which the client built the request.
  template <class M>
  void ExpectRoundTrip(const MethodDescriptor& method, const M& message) {
    const auto request = ToHttp(method, message);
    ASSERT_TRUE(request.ok()) << request.status();
    const size_t question = request->path.find('?');
    const auto match = router_.Find(request->verb, request->path);
    ASSERT_TRUE(match.ok()) << match.status() << " " << request->path;
    EXPECT_EQ(match->method, &method);
    M back;
    const std::string query =
        question == std::string::npos ? "" : request->path.substr(question + 1);
    const absl::Status filled = HttpRouter::Fill(*match, query, request->body, &back);
    ASSERT_TRUE(filled.ok()) << filled;
    EXPECT_TRUE(MessageDifferencer::Equals(message, back)) << message.DebugString() << "\nbecame\n"
                                                           << back.DebugString() << request->path;
  }

  HttpRouter router_;
};

TEST_F(HttpRuleTest, BuildsPathQueryAndBody) {
  api::TrialLogsRequest logs;
  logs.set_trial_id(3);
  logs.set_follow(true);
  logs.set_search_text("a b&c");
  const auto request = ToHttp(Method("TrialService", "TrialLogs"), logs);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->verb, "GET");
  EXPECT_EQ(request->path, "/api/v1/trials/3/logs?follow=true&searchText=a%20b%26c");
  EXPECT_EQ(request->body, "");

  api::KillExperimentRequest kill;
  kill.set_id(7);
  EXPECT_EQ(ToHttp(Method("ExperimentService", "KillExperiment"), kill)->path,
            "/api/v1/experiments/7/kill");
}

TEST_F(HttpRuleTest, NamesMissingFieldOfPath) {
  const auto request =
      ToHttp(Method("TrialService", "GetTrial"), api::GetTrialRequest::default_instance());
  EXPECT_EQ(request.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(request.status().message(), "trial_id: must not be empty");
}

TEST_F(HttpRuleTest, RoundTrips) {
  api::TrialLogsRequest logs;
  logs.set_trial_id(12);
  logs.set_limit(-1);
  logs.set_order_by(api::ORDER_BY_DESC);
  logs.add_allocation_ids("1.2.0");
  logs.add_allocation_ids("a/b c%20ü");
  logs.add_rank_ids(0);
  logs.add_rank_ids(1);
  logs.add_levels(api::LOG_LEVEL_ERROR);
  logs.mutable_timestamp_after()->set_seconds(1700000000);
  logs.mutable_timestamp_after()->set_nanos(120000000);
  ExpectRoundTrip(Method("TrialService", "TrialLogs"), logs);

  api::SetUserPasswordRequest password;
  password.set_user_id(3);
  password.set_password("a\"b");
  ExpectRoundTrip(Method("UserService", "SetUserPassword"), password);

  api::CreateExperimentRequest create;
  create.set_config("name: x\nlist: [1, 2]\n");
  create.set_activate(true);
  create.set_request_id("r\"1");
  auto* file = create.add_model_definition();
  file->set_path("dir/file.cc");
  file->set_content(std::string("\0\xff\x01 bytes", 9));
  file->set_mtime(1700000000123);
  file->set_type(48);
  ExpectRoundTrip(Method("ExperimentService", "CreateExperiment"), create);

  api::ReadCheckpointFileRequest read;
  read.set_checkpoint_uuid("0b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60");
  read.set_path("state/rank 0/model%.pt");
  ExpectRoundTrip(Method("CheckpointService", "ReadCheckpointFile"), read);

  api::GetExperimentsRequest list;
  list.set_archived(false);  // optional field that is set to false
  list.add_states(api::Experiment::STATE_ACTIVE);
  ExpectRoundTrip(Method("ExperimentService", "GetExperiments"), list);

  api::LoginRequest login;
  login.set_username("admin");
  ExpectRoundTrip(Method("AuthService", "Login"), login);
}

TEST_F(HttpRuleTest, PrefersLiteralsAndNamesSupportedVerbs) {
  const auto metrics = router_.Find("GET", "/api/v1/trials/metrics/trial_metrics");
  ASSERT_TRUE(metrics.ok());
  EXPECT_EQ(metrics->method->name(), "GetMetrics");
  EXPECT_EQ(router_.Find("GET", "/api/v1/trials/5/")->method->name(), "GetTrial");
  EXPECT_EQ(router_.Find("GET", "/api/v1/experiments")->method->name(), "GetExperiments");
  EXPECT_EQ(router_.Find("POST", "/api/v1/experiments?x=y")->method->name(), "CreateExperiment");

  // These paths overlap "/api/v1/tasks/{task_id}" and "/api/v1/runs/{run_id}/metadata".
  EXPECT_EQ(router_.Find("GET", "/api/v1/tasks/count")->method->name(), "GetActiveTasksCount");
  EXPECT_EQ(router_.Find("GET", "/api/v1/tasks/1.1/logs/fields")->method->name(), "TaskLogsFields");
  EXPECT_EQ(router_.Find("POST", "/api/v1/runs/archive")->method->name(), "ArchiveRuns");
  EXPECT_EQ(router_.Find("POST", "/api/v1/runs/7/metadata")->method->name(), "PostRunMetadata");
  const auto verb = router_.Find("DELETE", "/api/v1/experiments");
  EXPECT_EQ(verb.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(verb.status().message().find("GET, POST"), std::string::npos) << verb.status();
  EXPECT_EQ(router_.Find("GET", "/api/v1/nothing").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(router_.Find("GET", "/api/v1/trials//logs").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(router_.Find("GET", "/").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(router_.Find("GET", "").status().code(), absl::StatusCode::kNotFound);
}

// Read from the .proto files, so that new files and services are checked, too.
TEST(HttpRulesTest, EveryMethodOfApiHasRule) {
  std::ifstream file("proto/api.pb", std::ios::binary);
  google::protobuf::FileDescriptorSet texts;
  ASSERT_TRUE(texts.ParseFromIstream(&file));
  int methods = 0;
  for (const auto& text : texts.file()) {
    if (text.package() != "det.api.v1") continue;
    for (const auto& service : text.service()) {
      for (const auto& method : service.method()) {
        const auto& rule = method.options().GetExtension(google::api::http);
        EXPECT_NE(rule.pattern_case(), google::api::HttpRule::PATTERN_NOT_SET)
            << service.name() << "." << method.name();
        ++methods;
      }
    }
  }
  EXPECT_GT(methods, 20);
}

TEST_F(HttpRuleTest, RejectsDuplicateRule) {
  EXPECT_EQ(router_.Add(Service("TrialService")).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(HttpRuleTest, ParsesQueriesOfOldClients) {
  const auto match = router_.Find("GET", "/api/v1/trials/9/logs");
  ASSERT_TRUE(match.ok());
  api::TrialLogsRequest logs;
  const absl::Status status = HttpRouter::Fill(
      *match, "follow=1&orderBy=2&rank_ids=3&rankIds=4&levels=LOG_LEVEL_INFO", "", &logs);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(logs.follow());
  EXPECT_EQ(logs.order_by(), api::ORDER_BY_DESC);
  ASSERT_EQ(logs.rank_ids_size(), 2);
  EXPECT_EQ(logs.rank_ids(1), 4);
  EXPECT_EQ(logs.levels(0), api::LOG_LEVEL_INFO);
}

TEST_F(HttpRuleTest, RejectsUnknownEnumValues) {
  const auto match = router_.Find("POST", "/api/v1/task/logs");
  ASSERT_TRUE(match.ok()) << match.status();
  const auto fill = [&](const char* log) {
    api::PostTaskLogsRequest request;
    return HttpRouter::Fill(*match, "", absl::StrCat("{\"logs\": [{}, ", log, "]}"), &request);
  };
  EXPECT_EQ(fill(R"({"level": "LOG_LEVEL_LOUD"})").message(),
            "level: unknown value \"LOG_LEVEL_LOUD\" for enum det.api.v1.LogLevel");
  for (const char* log : {R"({"level": "LOG_LEVEL_INFO"})", R"({"level": "log_level_info"})",
                          R"({"level": 3})", R"({"level": "3"})", R"({"level": null})",
                          R"({"level": "INFO"})", R"({"later": "LOG_LEVEL_LOUD", "log": "a"})"}) {
    EXPECT_EQ(fill(log), absl::OkStatus()) << log;
  }
}

TEST_F(HttpRuleTest, CompletesEnumNamesWithoutPrefix) {
  const auto match = router_.Find("POST", "/task-logs");
  ASSERT_TRUE(match.ok()) << match.status();
  api::PostTaskLogsRequest request;
  ASSERT_TRUE(
      HttpRouter::Fill(*match, "", R"([{"level": "warning", "log": "\u0000\u00e4"}, {}])", &request)
          .ok());
  EXPECT_EQ(request.logs(0).level(), api::LOG_LEVEL_WARNING);
  EXPECT_EQ(request.logs(0).log(), std::string("\0\xc3\xa4", 3));
  EXPECT_EQ(request.logs(1).level(), api::LOG_LEVEL_UNSPECIFIED);
}

TEST_F(HttpRuleTest, RejectsUnknownParameters) {
  const auto match = router_.Find("GET", "/api/v1/trials/9/logs");
  api::TrialLogsRequest logs;
  const auto rejection = [&](const char* query) {
    const absl::Status status = HttpRouter::Fill(*match, query, "", &logs);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << query;
    return std::string(status.message());
  };
  EXPECT_EQ(rejection("limit=1&rank_idz=3"),
            "unknown parameter \"rank_idz\"; did you mean \"rankIds\"");
  EXPECT_EQ(rejection("a.b=c").substr(0, 23), "unknown parameter \"a.b\"");
}

TEST_F(HttpRuleTest, RejectsQuery_WhenBodyIsWholeMessage) {
  const auto match = router_.Find("POST", "/api/v1/experiments");
  ASSERT_TRUE(match.ok()) << match.status();
  api::CreateExperimentRequest request;
  EXPECT_EQ(HttpRouter::Fill(*match, "activate=true", "{}", &request).message(),
            "the parameter \"activate\" must be in the request body");
}

TEST_F(HttpRuleTest, IgnoresQuery_WhenMethodTakesNone) {
  for (const char* path : {"/api/v1/master", "/api/v1/experiments/3"}) {
    const auto match = router_.Find("GET", path);
    ASSERT_TRUE(match.ok()) << match.status();
    api::GetExperimentRequest request;
    EXPECT_TRUE(HttpRouter::Fill(*match, "anything=1", "", &request).ok()) << path;
  }
}

TEST_F(HttpRuleTest, NamesFieldWithInvalidValue) {
  api::TrialLogsRequest logs;
  const auto match = router_.Find("GET", "/api/v1/trials/9/logs");
  for (const char* query : {"limit=many", "follow=perhaps", "orderBy=SIDEWAYS",
                            "timestampAfter=yesterday", "limit=99999999999"}) {
    const absl::Status status = HttpRouter::Fill(*match, query, "", &logs);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << query;
    const std::string field = std::string(query).substr(0, std::string(query).find('='));
    EXPECT_NE(status.message().find(field), std::string::npos) << status;
  }
  const auto word = router_.Find("GET", "/api/v1/trials/nine/logs");
  EXPECT_EQ(HttpRouter::Fill(*word, "", "", &logs).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(HttpRuleTest, NamesFieldThatIsNotUtf8) {
  api::TrialLogsRequest logs;
  const auto match = router_.Find("GET", "/api/v1/trials/9/logs");
  absl::Status status = HttpRouter::Fill(*match, "searchText=a%ffb", "", &logs);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "searchText: the value is not UTF-8");
  status = HttpRouter::Fill(*match, "limit=%ff", "", &logs);
  EXPECT_EQ(status.message(), "limit: the value is not UTF-8");
  EXPECT_TRUE(HttpRouter::Fill(*match, "searchText=%c3%bc", "", &logs).ok());

  api::GetTaskRequest task;
  const auto path = router_.Find("GET", "/api/v1/tasks/%c3%28");
  status = HttpRouter::Fill(*path, "", "", &task);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "task_id: the value is not UTF-8");

  api::CreateExperimentRequest create;
  status = HttpRouter::Fill(*router_.Find("POST", "/api/v1/experiments"), "",
                            "{\"config\": \"a\xff\"}", &create);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

TEST_F(HttpRuleTest, ParsesBodiesOfOldClients) {
  const auto match = router_.Find("POST", "/api/v1/experiments");
  api::CreateExperimentRequest create;
  const absl::Status status = HttpRouter::Fill(
      *match, "",
      R"({"config": "a: b", "parentId": null, "template": null, "modelDefinition": null,
          "validate_only": true, "whatever": {"x": [1]}})",
      &create);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(create.config(), "a: b");
  EXPECT_TRUE(create.validate_only());
  EXPECT_EQ(HttpRouter::Fill(*match, "", "{\"config\": ", &create).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(HttpRouter::Fill(*match, "", "{\"activate\": \"often\"}", &create).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(HttpRuleTest, StringBodySetsOnlyItsField) {
  const auto match = router_.Find("POST", "/api/v1/users/3/password");
  ASSERT_TRUE(match.ok()) << match.status();
  api::SetUserPasswordRequest request;
  EXPECT_FALSE(HttpRouter::Fill(*match, "", R"("x","user_id":5)", &request).ok());
  EXPECT_FALSE(HttpRouter::Fill(*match, "", R"({"password":"x"})", &request).ok());
  ASSERT_TRUE(HttpRouter::Fill(*match, "", R"("x")", &request).ok());
  EXPECT_EQ(request.user_id(), 3);
  EXPECT_EQ(request.password(), "x");
}

TEST_F(HttpRuleTest, ListBodySetsOnlyItsField) {
  const auto match = router_.Find("POST", "/task-logs");
  ASSERT_TRUE(match.ok()) << match.status();
  api::PostTaskLogsRequest request;
  EXPECT_FALSE(HttpRouter::Fill(*match, "", R"({"log": "one"})", &request).ok());
  ASSERT_TRUE(HttpRouter::Fill(*match, "", R"([{"task_id": "5.7", "log": "one"}, {"log": "two"}])",
                               &request)
                  .ok());
  ASSERT_EQ(request.logs_size(), 2);
  EXPECT_EQ(request.logs(0).task_id(), "5.7");
  EXPECT_EQ(request.logs(1).log(), "two");
}

TEST_F(HttpRuleTest, PathTakesPrecedenceOverBody) {
  const auto match = router_.Find("GET", "/api/v1/trials/9");
  api::GetTrialRequest get;
  ASSERT_TRUE(HttpRouter::Fill(*match, "trialId=4", "", &get).ok());
  EXPECT_EQ(get.trial_id(), 9);
}

TEST(JsonTest, WritesDefaultsInLowerCamelCase) {
  api::GetMasterResponse master;
  master.set_version("1");
  const auto json = ToJson(master);
  ASSERT_TRUE(json.ok());
  EXPECT_NE(json->find("\"clusterName\":\"\""), std::string::npos) << *json;
  EXPECT_NE(json->find("\"rbacEnabled\":false"), std::string::npos) << *json;
  EXPECT_NE(json->find("\"featureSwitches\":[]"), std::string::npos) << *json;

  api::GetExperimentResponse experiment;
  (*experiment.mutable_config()->mutable_fields())["lr"].set_number_value(0.5);
  experiment.mutable_experiment()->set_checkpoint_size(1LL << 40);
  experiment.mutable_experiment()->set_state(api::Experiment::STATE_QUEUED);
  const auto text = ToJson(experiment);
  EXPECT_NE(text->find("\"checkpointSize\":\"1099511627776\""), std::string::npos) << *text;
  EXPECT_NE(text->find("\"state\":\"STATE_QUEUED\""), std::string::npos) << *text;
  EXPECT_NE(text->find("\"config\":{\"lr\":0.5}"), std::string::npos) << *text;
}

TEST_F(HttpRuleTest, MethodWithoutRuleHasDefaultPath) {
  const auto* service =
      det::trial::v1::ReportMetricsRequest::descriptor()->file()->FindServiceByName("TrialRuntime");
  ASSERT_TRUE(router_.Add(*service).ok());
  det::trial::v1::ReportMetricsRequest request;
  request.set_allocation_id("1.1.0");
  request.set_trial_id(1);
  request.add_reports()->set_group("validation");
  const MethodDescriptor& method = *service->FindMethodByName("ReportMetrics");
  EXPECT_EQ(ToHttp(method, request)->path, "/det.trial.v1.TrialRuntime/ReportMetrics");
  ExpectRoundTrip(method, request);
}

}  // namespace
}  // namespace det::proto
