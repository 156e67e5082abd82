#include "cli/api_client.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/fd.h"
#include "cli/connection.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/trial.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Answers each connection with the next of some prepared texts, and keeps what was asked.
class FakeServer {
 public:
  explicit FakeServer(std::vector<std::string> answers)
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, answers = std::move(answers)] {
      for (const std::string& answer : answers) {
        const base::Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        requests.push_back(ReadRequest(fd.get()));
        EXPECT_EQ(write(fd.get(), answer.data(), answer.size()),
                  static_cast<ssize_t>(answer.size()));
      }
    });
  }
  ~FakeServer() { thread_.join(); }

  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_); }

  // Read after the server's end only, or after the answer to the last.
  std::vector<std::string> requests;

 private:
  static std::string ReadRequest(int fd) {
    std::string text;
    char buffer[4096];
    while (true) {
      const size_t end = text.find("\r\n\r\n");
      if (end != text.npos) {
        size_t length = 0;
        const size_t header = text.find("Content-Length: ");
        if (header != text.npos) {
          const size_t begin = header + 16;
          EXPECT_TRUE(
              absl::SimpleAtoi(text.substr(begin, text.find('\r', begin) - begin), &length));
        }
        if (text.size() >= end + 4 + length) return text;
      }
      const ssize_t got = read(fd, buffer, sizeof(buffer));
      if (got <= 0) return text;
      text.append(buffer, static_cast<size_t>(got));
    }
  }

  base::Fd listener_;
  int port_ = 0;
  std::thread thread_;
};

std::string Answer(const std::string& status, const std::string& body) {
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
}

std::string Chunked(const std::vector<std::string>& pieces) {
  std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& piece : pieces) {
    absl::StrAppend(&text, absl::Hex(piece.size()), "\r\n", piece, "\r\n");
  }
  return text + "0\r\n\r\n";
}

TEST(ApiClientTest, BuildsTheRequestFromTheMethodsRule) {
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

TEST(ApiClientTest, GivesTheMastersRefusalAsItIs) {
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

TEST(ApiClientTest, AsksAgainWhileTheMasterCannotAnswer) {
  FakeServer server({Answer("503 Service Unavailable", "busy"), "", Answer("200 OK", "{}")});
  api::v1::GetExperimentsResponse response;
  const absl::Status status =
      ApiClient(server.url(), "")
          .Call("ExperimentService.GetExperiments", api::v1::GetExperimentsRequest(), &response);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(server.requests.size(), 3u);
}

TEST(ApiClientTest, SaysWhatToDoWhenNobodyAnswers) {
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

TEST(ApiClientTest, AnUnknownTokenSaysWhereToPutOne) {
  FakeServer server({Answer("401 Unauthorized", R"({"error":{"error":"unknown token"}})")});
  api::v1::GetExperimentsResponse response;
  const absl::Status status =
      ApiClient(server.url(), "x")
          .Call("ExperimentService.GetExperiments", api::v1::GetExperimentsRequest(), &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(status.message()), HasSubstr("DET_USER_TOKEN"));
}

// Lines of a stream may be torn anywhere.
TEST(ApiClientTest, ReadsAStreamLineByLine) {
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

TEST(ApiClientTest, AStreamEndsWhenTheCallerHasEnoughAndWhenItFails) {
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

TEST(CanonicalUrlTest, CompletesAddressesAndRefusesOthers) {
  EXPECT_EQ(*CanonicalUrl("host"), "http://host:8080");
  EXPECT_EQ(*CanonicalUrl("host:81"), "http://host:81");
  EXPECT_EQ(*CanonicalUrl("http://host:81/"), "http://host:81");
  EXPECT_EQ(*CanonicalUrl("http://[::1]:81"), "http://[::1]:81");
  for (const char* bad : {"", "https://host", "host:port", "host:0", ":80"}) {
    EXPECT_FALSE(CanonicalUrl(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace det::cli
