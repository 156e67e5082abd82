#include "cli/api_client.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fd.h"
#include "cli/connection.h"
#include "cli/testing/fake_server.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/project.pb.h"
#include "det/api/v1/trial.pb.h"
#include "det/api/v1/webhook.pb.h"
#include "det/api/v1/workspace.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kListRequest[] = "GET /api/v1/experiments";

TEST(ApiClientTest, BuildsRequestFromHttpRule) {
  FakeServer server({Answer("200 OK", R"({"experiment":{"id":7,"name":"x"},"unknown":1})")});
  const ApiClient api(server.url(), "secret");
  api::v1::GetExperimentRequest request;
  request.set_experiment_id(7);
  api::v1::GetExperimentResponse response;
  const absl::Status status = api.Call("ExperimentService.GetExperiment", request, &response);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(response.experiment().name(), "x");
  ASSERT_EQ(server.requests.size(), 1u);
  EXPECT_TRUE(absl::StartsWith(server.requests[0], "GET /api/v1/experiments/7 HTTP/1.1\r\n"))
      << server.requests[0];
  EXPECT_THAT(server.requests[0], HasSubstr("Authorization: Bearer secret\r\n"));
}

TEST(ApiClientTest, ReturnsErrorOfMasterUnchanged) {
  const std::string body =
      R"({"error":{"code":412,"reason":"FailedPrecondition","error":"experiment 7 is COMPLETED"}})";
  FakeServer server({Answer("412 Precondition Failed", body)});
  api::v1::KillExperimentRequest request;
  request.set_id(7);
  api::v1::KillExperimentResponse response;
  const absl::Status status =
      ApiClient(server.url(), "").Call("ExperimentService.KillExperiment", request, &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "experiment 7 is COMPLETED");
}

TEST(ApiClientTest, Retries_WhileMasterIsUnavailable) {
  FakeServer server({Answer("503 Service Unavailable", "busy"), "", Answer("200 OK", "{}")});
  api::v1::GetExperimentsResponse response;
  const absl::Status status =
      ApiClient(server.url(), "")
          .Call("ExperimentService.GetExperiments", api::v1::GetExperimentsRequest(), &response);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(server.requests.size(), 3u);
}

std::string GetKey(const std::string& request) {
  const std::string name = "Idempotency-Key: ";
  const size_t at = request.find(name);
  return at == request.npos ? "" : request.substr(at + name.size(), 36);
}

// The first response is lost; the second says that the first request is still being processed.
TEST(ApiClientTest, RetriesCreateWithSameIdempotencyKey) {
  const std::string under_way = R"({"error": {"code": 10, "error": "under way"}})";
  FakeServer server({"", Answer("409 Conflict", under_way), Answer("200 OK", "{}")});
  const ApiClient api(server.url(), "t");
  api::v1::PostWorkspaceRequest request;
  request.set_name("w");
  api::v1::PostWorkspaceResponse response;
  const absl::Status called = api.Call("WorkspaceService.PostWorkspace", request, &response);
  ASSERT_TRUE(called.ok()) << called;
  ASSERT_EQ(server.requests.size(), 3u);
  EXPECT_EQ(GetKey(server.requests[0]).size(), 36u);
  EXPECT_EQ(GetKey(server.requests[1]), GetKey(server.requests[0]));
  EXPECT_EQ(GetKey(server.requests[2]), GetKey(server.requests[0]));
}

TEST(ApiClientTest, SendsNewKeyPerCreateAndNoneForReads) {
  FakeServer server({Answer("200 OK", "{}"), Answer("200 OK", "{}"), Answer("200 OK", "{}")});
  const ApiClient api(server.url(), "t");
  api::v1::PostWorkspaceRequest post;
  post.set_name("w");
  api::v1::PostWorkspaceResponse made;
  ASSERT_TRUE(api.Call("WorkspaceService.PostWorkspace", post, &made).ok());
  ASSERT_TRUE(api.Call("WorkspaceService.PostWorkspace", post, &made).ok());
  api::v1::GetWorkspacesResponse read;
  ASSERT_TRUE(
      api.Call("WorkspaceService.GetWorkspaces", api::v1::GetWorkspacesRequest(), &read).ok());
  ASSERT_EQ(server.requests.size(), 3u);
  EXPECT_NE(GetKey(server.requests[0]), GetKey(server.requests[1]));
  EXPECT_EQ(GetKey(server.requests[2]), "");
}

// Method names do not show whether a method creates something.
TEST(ApiClientTest, SendsKeyForCreatesButNotForUpdates) {
  FakeServer server(std::vector<std::string>(4, Answer("200 OK", "{}")));
  const ApiClient api(server.url(), "t");
  api::v1::ContinueExperimentRequest again;
  again.set_id(7);
  api::v1::ContinueExperimentResponse continued;
  ASSERT_TRUE(api.Call("ExperimentService.ContinueExperiment", again, &continued).ok());
  api::v1::AddProjectNoteRequest note;
  note.set_project_id(7);
  api::v1::AddProjectNoteResponse noted;
  ASSERT_TRUE(api.Call("ProjectService.AddProjectNote", note, &noted).ok());
  api::v1::TestWebhookRequest webhook;
  webhook.set_id(7);
  api::v1::TestWebhookResponse tested;
  ASSERT_TRUE(api.Call("WebhookService.TestWebhook", webhook, &tested).ok());
  api::v1::PauseExperimentRequest pause;
  pause.set_id(7);
  api::v1::PauseExperimentResponse paused;
  ASSERT_TRUE(api.Call("ExperimentService.PauseExperiment", pause, &paused).ok());
  ASSERT_EQ(server.requests.size(), 4u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(GetKey(server.requests[i]).size(), 36u) << i;
  EXPECT_EQ(GetKey(server.requests[3]), "");
}

TEST(ApiClientTest, NamesRemedy_WhenMasterIsUnreachable) {
  std::string url;
  {
    FakeServer gone({});
    url = gone.url();
  }
  api::v1::GetExperimentsResponse response;
  const absl::Status status = ApiClient(url, "").Call("ExperimentService.GetExperiments",
                                                      api::v1::GetExperimentsRequest(), &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(url));
  EXPECT_THAT(std::string(status.message()), HasSubstr("det deploy local up"));
}

std::string GetUnusedUrl() { return FakeServer({}).url(); }

absl::Status CallMasters(const std::vector<std::string>& urls) {
  api::v1::GetExperimentsResponse response;
  return ApiClient(urls, "").Call("ExperimentService.GetExperiments",
                                  api::v1::GetExperimentsRequest(), &response);
}

// Returns the error of a call to a server that gives this answer.
absl::Status CallServer(const std::string& answer) {
  FakeServer server({answer});
  api::v1::GetExperimentsResponse response;
  return ApiClient(server.url(), "")
      .Call("ExperimentService.GetExperiments", api::v1::GetExperimentsRequest(), &response);
}

TEST(ApiClientTest, SaysWhatAnswers_WhenAddressIsNoMaster) {
  const std::pair<std::string, const char*> answers[] = {
      {Answer("404 Not Found", "<html><head><TITLE>404: nginx</TITLE></head></html>"),
       "is not a master: it answered HTTP 404 with a page \"404: nginx\"; name the master with -m"},
      {Answer("200 OK", "<html>\n<p>Hello"), "it answered HTTP 200 with \"<html>\""},
      {Answer("204 No Content", ""), "it answered HTTP 204 with an empty body"},
      {Answer("401 Unauthorized", "log in"), "it answered HTTP 401 with \"log in\""},
      {"SSH-2.0-OpenSSH_9.2\r\n", "what answers there is not an HTTP server"},
  };
  for (const auto& [answer, text] : answers) {
    const absl::Status status = CallServer(answer);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_TRUE(absl::StartsWith(status.message(), "http://127.0.0.1:")) << status;
  }
}

TEST(ApiClientTest, EndsStream_WhenAddressIsNoMaster) {
  for (const char* page : {"<title>Router</title>", "<title>Router</title>\n<p>\n"}) {
    FakeServer server({Answer("200 OK", page)});
    api::v1::WatchExperimentRequest request;
    request.set_experiment_id(7);
    api::v1::WatchExperimentResponse update;
    const absl::Status status =
        ApiClient(server.url(), "")
            .Stream("ExperimentService.WatchExperiment", request, &update, [] { return true; });
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("is not a master: it answered HTTP 200 with a page \"Router\""));
  }
}

TEST(ApiClientTest, CallsFirstMasterThatResponds) {
  const std::string nothing = Answer("200 OK", "{}");
  FakeServer leader({nothing, nothing, nothing, nothing});
  const ApiClient api({GetUnusedUrl(), leader.url(), GetUnusedUrl()}, "");
  api::v1::GetExperimentsResponse response;
  for (int i = 0; i < 3; ++i) {
    const absl::Status status =
        api.Call("ExperimentService.GetExperiments", api::v1::GetExperimentsRequest(), &response);
    EXPECT_TRUE(status.ok()) << status;
  }
  // The health check is sent only once.
  EXPECT_THAT(leader.requests, ElementsAre(StartsWith("GET /health "), StartsWith(kListRequest),
                                           StartsWith(kListRequest), StartsWith(kListRequest)));
}

// Behaves like a stopped process: accepts connections but never responds.
class SilentServer {
 public:
  SilentServer() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd_.get(), 8), 0);
    ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    url_ = absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port));
  }
  const std::string& url() const { return url_; }
  // Returns what was received on each connection.
  std::vector<std::string> GetReceived() const {
    std::vector<std::string> received;
    while (true) {
      const base::Fd peer(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!peer.valid()) return received;
      char text[4096];
      received.emplace_back(text, std::max<ssize_t>(::recv(peer.get(), text, sizeof(text), 0), 0));
    }
  }

 private:
  base::Fd fd_;
  std::string url_;
};

TEST(ApiClientTest, SkipsSilentMasterAndSendsItOnlyHealthCheck) {
  SilentServer stopped;
  FakeServer leader({Answer("200 OK", "{}"), Answer("200 OK", "{}")});
  const absl::Status status = CallMasters({stopped.url(), leader.url()});
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(stopped.GetReceived(), ElementsAre(StartsWith("GET /health ")));
}

TEST(ApiClientTest, FindsLeaderAgain_WhenItLosesLeadership) {
  const std::string nothing = Answer("200 OK", "{}");
  FakeServer leader({nothing, nothing, Answer("503 Service Unavailable", ""), nothing, nothing});
  const ApiClient api({leader.url(), GetUnusedUrl()}, "");
  api::v1::GetExperimentsResponse response;
  for (int i = 0; i < 2; ++i) {
    const absl::Status status =
        api.Call("ExperimentService.GetExperiments", api::v1::GetExperimentsRequest(), &response);
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_THAT(leader.requests, ElementsAre(StartsWith("GET /health "), StartsWith(kListRequest),
                                           StartsWith(kListRequest), StartsWith("GET /health "),
                                           StartsWith(kListRequest)));
}

TEST(ApiClientTest, SkipsMasterThatDoesNotLead) {
  const std::string refusal =
      Answer("503 Service Unavailable", R"({"error":{"error":"ask that one"}})");
  FakeServer old({refusal, refusal});
  FakeServer leader({Answer("200 OK", "{}"), Answer("200 OK", "{}")});
  const absl::Status status = CallMasters({old.url(), leader.url()});
  EXPECT_TRUE(status.ok()) << status;
}

TEST(ApiClientTest, DistinguishesDatabaseErrorFromUnreachableMaster) {
  FakeServer leader(
      {Answer("200 OK", "{}"),
       Answer("400 Bad Request", R"({"error":{"error":"cannot reach the database"}})")});
  EXPECT_EQ(CallMasters({leader.url(), GetUnusedUrl()}).message(), "cannot reach the database");
  EXPECT_FALSE(IsUnreachable(absl::UnavailableError("cannot reach the database: gone")));
}

TEST(ApiClientTest, DoesNotTryOtherMasters_AfterError) {
  FakeServer leader(
      {Answer("200 OK", "{}"), Answer("404 Not Found", R"({"error":{"error":"no such thing"}})")});
  EXPECT_EQ(CallMasters({leader.url(), GetUnusedUrl()}).message(), "no such thing");
}

TEST(ApiClientTest, NamesAllMasters_WhenNoneResponds) {
  const std::vector<std::string> urls = {GetUnusedUrl(), GetUnusedUrl()};
  const absl::Status status = CallMasters(urls);
  EXPECT_TRUE(IsUnreachable(status)) << status;
  for (const std::string& url : urls) EXPECT_THAT(std::string(status.message()), HasSubstr(url));
}

TEST(FindMasterTest, AcceptsSeveralAddresses) {
  const absl::StatusOr<Connection> connection = FindMaster("a, http://b:81/");
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_THAT(connection->urls, ElementsAre("http://a:8080", "http://b:81"));
  EXPECT_FALSE(FindMaster("a,").ok());
  EXPECT_FALSE(FindMaster("a,ftp://b").ok());
}

TEST(ApiClientTest, NamesSourceOfToken_WhenTokenIsRejected) {
  FakeServer server({Answer("401 Unauthorized", R"({"error":{"error":"unknown token"}})")});
  api::v1::GetExperimentsResponse response;
  const absl::Status status =
      ApiClient(server.url(), "x")
          .Call("ExperimentService.GetExperiments", api::v1::GetExperimentsRequest(), &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(status.message()), HasSubstr("DET_USER_TOKEN"));
}

// Lines of a stream can be split anywhere.
TEST(ApiClientTest, ReadsStreamLineByLine) {
  FakeServer server({Chunked({"{\"result\":{\"log\":\"a\"}}\n{\"resu", "lt\":{\"log\":\"b\"}}\n",
                              "\n", "{\"result\":{\"log\":\"c\"}}\n"})});
  api::v1::TrialLogsRequest request;
  request.set_trial_id(3);
  request.set_follow(true);
  api::v1::TrialLogsResponse line;
  std::vector<std::string> lines;
  const absl::Status status =
      ApiClient(server.url(), "").Stream("TrialService.TrialLogs", request, &line, [&] {
        lines.push_back(line.log());
        return true;
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(lines, ElementsAre("a", "b", "c"));
  EXPECT_TRUE(absl::StartsWith(server.requests[0], "GET /api/v1/trials/3/logs?follow=true "));
}

TEST(ApiClientTest, EndsStream_WhenCallerStopsOrMasterFails) {
  api::v1::TrialLogsRequest request;
  request.set_trial_id(3);
  api::v1::TrialLogsResponse line;
  const std::string first = "{\"result\":{\"log\":\"a\"}}\n";
  {
    FakeServer server({Chunked({first, first})});
    int seen = 0;
    EXPECT_TRUE(ApiClient(server.url(), "")
                    .Stream("TrialService.TrialLogs", request, &line, [&] { return ++seen < 1; })
                    .ok());
    EXPECT_EQ(seen, 1);
  }
  FakeServer server({Chunked({first, "{\"error\":{\"error\":\"the trial is gone\"}}\n"})});
  const absl::Status status =
      ApiClient(server.url(), "").Stream("TrialService.TrialLogs", request, &line, [&] {
        return true;
      });
  EXPECT_EQ(status.message(), "the trial is gone");
}

// A master that shuts down cancels its streams; the streamed data has not ended.
TEST(ApiClientTest, ReturnsAborted_WhenMasterCancelsStream) {
  api::v1::TrialLogsRequest request;
  request.set_trial_id(3);
  api::v1::TrialLogsResponse line;
  const std::string canceled =
      R"({"error":{"code":1,"reason":"Canceled","error":"the master stops"}})";
  FakeServer server({Chunked({canceled + "\n"}), Answer("499 Canceled", canceled)});
  for (int i = 0; i < 2; ++i) {
    const absl::Status status =
        ApiClient(server.url(), "").Stream("TrialService.TrialLogs", request, &line, [] {
          return true;
        });
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
    EXPECT_EQ(status.message(), "the master stops");
  }
}

TEST(CanonicalUrlTest, NormalizesAddressesAndRejectsOthers) {
  EXPECT_EQ(*CanonicalUrl("host"), "http://host:8080");
  EXPECT_EQ(*CanonicalUrl("https://host/"), "https://host:443");
  EXPECT_EQ(*CanonicalUrl("https://host:8443"), "https://host:8443");
  EXPECT_EQ(*CanonicalUrl("host:81"), "http://host:81");
  EXPECT_EQ(*CanonicalUrl("http://host:81/"), "http://host:81");
  EXPECT_EQ(*CanonicalUrl("http://[::1]:81"), "http://[::1]:81");
  for (const char* bad : {"", "ftp://host", "host:port", "host:0", ":80"}) {
    EXPECT_FALSE(CanonicalUrl(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace det::cli
