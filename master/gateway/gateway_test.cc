// Requests and answers of the gateway.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "master/gateway/gzip.h"
#include "master/gateway/testing/gateway_fixture.h"
#include <boost/asio/connect.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>

namespace det::gateway {
namespace {

TEST_F(GatewayTest, AnswersAUnaryCallAsJson) {
  const Answer answer = Ask("GET /api/v1/experiments/42 HTTP/1.1\r\nAuthorization: Bearer abc\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find("\"id\":42"), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find("\"name\":\"Bearer abc\""), std::string::npos) << answer.body;
  EXPECT_EQ(answer.headers.at("Content-Type"), "application/json");
}

TEST_F(GatewayTest, AnswersWithTheFieldsThatAreAskedFor) {
  const Answer answer =
      Ask("GET /api/v1/experiments/42?fields=experiment.id%2Cexperiment.notes HTTP/1.1\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"experiment":{"id":42,"notes":""}})");
  EXPECT_EQ(Ask("GET /api/v1/experiments/42?fields=experiment.id&fields=experiment.notes "
                "HTTP/1.1\r\n")
                .body,
            answer.body);
  // Before the method is called: this one would not find what is asked for.
  const Answer refused = Ask("GET /api/v1/experiments/404?fields=experiment.nam HTTP/1.1\r\n");
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("the nearest is \\\"name\\\""), std::string::npos) << refused.body;
  // An error has no mask.
  EXPECT_NE(Ask("GET /api/v1/experiments/404?fields=experiment.id HTTP/1.1\r\n")
                .body.find("does not exist"),
            std::string::npos);
}

TEST_F(GatewayTest, AnswersWithABodyThatIsNoJsonAsItIs) {
  const Answer answer =
      Ask("GET /resources/allocation/raw?timestamp_after=2026-11-20 HTTP/1.1\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("Content-Type"), "text/csv");
  EXPECT_EQ(answer.body, "after\n2026-11-20\n");
}

TEST_F(GatewayTest, PassesABodyWithoutContentType) {
  const Answer answer =
      Ask("POST /api/v1/experiments HTTP/1.1\r\n", R"({"config": "a: b", "parentId": null})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find("\"originalConfig\":\"a: b\""), std::string::npos) << answer.body;
}

TEST_F(GatewayTest, SaysErrorsAsJsonWithTheirStatus) {
  Answer answer = Ask("GET /api/v1/experiments/404 HTTP/1.1\r\n");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body,
            R"({"error":{"code":5,"error":"experiment 404 does not exist","reason":"NotFound"}})");
  EXPECT_EQ(Ask("GET /api/v1/experiments/many HTTP/1.1\r\n").status, 400);
  EXPECT_EQ(Ask("POST /api/v1/experiments HTTP/1.1\r\n", "{").status, 400);
  EXPECT_EQ(Ask("GET /api/v1/nothing HTTP/1.1\r\n").status, 404);
  answer = Ask("PUT /api/v1/experiments HTTP/1.1\r\n");
  EXPECT_EQ(answer.status, 405);
  EXPECT_NE(answer.body.find("GET, POST"), std::string::npos) << answer.body;
  // Not served by anybody behind the gateway.
  EXPECT_EQ(Ask("POST /api/v1/experiments/3/kill HTTP/1.1\r\n").status, 501);
}

TEST_F(GatewayTest, KeepsTheConnectionForTheNextRequest) {
  tcp::socket socket = Connect();
  for (int id : {1, 404, 2}) {
    Send(socket, "GET /api/v1/experiments/" + std::to_string(id) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(Receive(socket).status, id == 404 ? 404 : 200);
  }
}

TEST_F(GatewayTest, SaysWhatItIsAndItsMetrics) {
  EXPECT_EQ(Ask("GET / HTTP/1.1\r\n").body, "what this is\n");
  EXPECT_EQ(Ask("GET /metrics HTTP/1.1\r\n").body, "up 1\n");
  const Answer head = Ask("HEAD / HTTP/1.1\r\n");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("Content-Length"), "13");
  EXPECT_EQ(Ask("OPTIONS /api/v1/experiments HTTP/1.1\r\n").status, 204);
}

TEST_F(GatewayTest, EveryAnswerHasTheIdOfItsRequest) {
  const std::string mine = "X-Request-Id: mine-7\r\n";
  const Answer named = Ask("GET /api/v1/experiments/1 HTTP/1.1\r\n" + mine);
  EXPECT_EQ(named.headers.at("X-Request-Id"), "mine-7");
  EXPECT_NE(named.body.find("\"description\":\"mine-7 127.0.0.1 \""), std::string::npos)
      << named.body;
  for (const char* path : {"/", "/api/v1/nothing", "/api/v1/experiments/404", "/metrics",
                           "/api/v1/experiments/2/watch", "/api/v1/experiments/404/watch"}) {
    const std::string ask = std::string("GET ") + path + " HTTP/1.1\r\n";
    EXPECT_EQ(Ask(ask + mine).headers.at("X-Request-Id"), "mine-7") << path;
    EXPECT_EQ(Ask(ask).headers.at("X-Request-Id").size(), 36u) << path;
  }
  const Answer made = Ask("GET /api/v1/experiments/1 HTTP/1.1\r\n");
  EXPECT_NE(made.body.find(made.headers.at("X-Request-Id")), std::string::npos) << made.body;
  for (const std::string& odd : {std::string(129, 'x'), std::string("a b"), std::string("\x80")}) {
    const Answer other = Ask("GET /api/v1/experiments/1 HTTP/1.1\r\nX-Request-Id: " + odd + "\r\n");
    EXPECT_EQ(other.headers.at("X-Request-Id").size(), 36u);
  }
}

TEST_F(GatewayTest, TakesAnAllocationsTokenWhereOlderClientsPutIt) {
  const Answer answer =
      Ask("GET /api/v1/experiments/1 HTTP/1.1\r\n"
          "grpc-metadata-X-Allocation-Token: Bearer t.1\r\n");
  EXPECT_NE(answer.body.find("\"name\":\"Bearer t.1\""), std::string::npos) << answer.body;
  const Answer both =
      Ask("GET /api/v1/experiments/1 HTTP/1.1\r\nAuthorization: Bearer own\r\n"
          "Grpc-Metadata-x-allocation-token: Bearer t.1\r\n");
  EXPECT_NE(both.body.find("\"name\":\"Bearer own\""), std::string::npos) << both.body;
}

TEST_F(GatewayTest, PassesTheKeyOfARequestThatMayComeTwice) {
  const Answer answer =
      Ask("GET /api/v1/experiments/1 HTTP/1.1\r\nX-Request-Id: r\r\nIdempotency-Key: k 1\r\n");
  EXPECT_NE(answer.body.find("r 127.0.0.1 k 1"), std::string::npos) << answer.body;
}

TEST_F(GatewayTest, SaysWhenToComeBack) {
  const Answer answer = Ask("GET /api/v1/experiments/429 HTTP/1.1\r\n");
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.headers.at("Retry-After"), "7");
}

TEST_F(GatewayTest, CompressesLongAnswersForThoseWhoTakeThem) {
  const Answer plain = Ask("GET /api/v1/experiments/2000 HTTP/1.1\r\n");
  EXPECT_EQ(plain.headers.count("Content-Encoding"), 0u);
  EXPECT_EQ(plain.headers.at("Vary"), "Accept-Encoding");
  const std::string takes = "Accept-Encoding: br, gzip;q=0.5\r\nX-Request-Id: x\r\n";
  const Answer packed = Ask("GET /api/v1/experiments/2000 HTTP/1.1\r\n" + takes);
  ASSERT_EQ(packed.headers.at("Content-Encoding"), "gzip");
  EXPECT_LT(packed.body.size(), plain.body.size());
  const auto text = Gunzip(packed.body, 1 << 20);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_NE(text->find(Long()), std::string::npos);
  const Answer refused =
      Ask("GET /api/v1/experiments/2000 HTTP/1.1\r\nAccept-Encoding: gzip;q=0\r\n");
  EXPECT_EQ(refused.headers.count("Content-Encoding"), 0u);
  const Answer small = Ask("GET / HTTP/1.1\r\n" + takes);
  EXPECT_EQ(small.headers.count("Content-Encoding"), 0u);
}

TEST_F(GatewayTest, ReadsCompressedBodiesWithinTheLimit) {
  const std::string post =
      "POST /api/v1/experiments HTTP/1.1\r\nAuthorization: Bearer abc\r\nContent-Encoding: ";
  const Answer good = Ask(post + "gzip\r\n", Gzip(R"({"config": "packed"})"));
  EXPECT_EQ(good.status, 200);
  EXPECT_NE(good.body.find("\"originalConfig\":\"packed\""), std::string::npos) << good.body;
  EXPECT_EQ(Ask(post + "gzip\r\n", Gzip(std::string(9 << 20, ' '))).status, 413);
  EXPECT_EQ(Ask("POST /api/v1/experiments HTTP/1.1\r\nContent-Encoding: gzip\r\n",
                Gzip(std::string(70'000, ' ')))
                .status,
            413);
  EXPECT_EQ(Ask(post + "gzip\r\n", "{}").status, 400);
  EXPECT_EQ(Ask(post + "br\r\n", "{}").status, 415);
  EXPECT_EQ(Ask(post + "identity\r\n", "{}").status, 200);
}

TEST_F(GatewayTest, DescribesItself) {
  const Answer json = Ask("GET /api/v1/openapi.json HTTP/1.1\r\n");
  EXPECT_EQ(json.status, 200);
  EXPECT_EQ(json.headers.at("Content-Type"), "application/json");
  EXPECT_NE(json.body.find("ExperimentService_GetExperiment"), std::string::npos);
  const Answer page = Ask("GET /api HTTP/1.1\r\n");
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.body.find("</html>"), std::string::npos);
  EXPECT_NE(page.headers.at("Content-Security-Policy").find("default-src 'none'"),
            std::string::npos);
}

TEST_F(GatewayTest, LetsNoOtherSitesPagesIn) {
  const std::string from = "Origin: https://a.example\r\n";
  const Answer answer = Ask("GET /api/v1/experiments/1 HTTP/1.1\r\n" + from);
  EXPECT_EQ(answer.headers.count("Access-Control-Allow-Origin"), 0u);
  const Answer before = Ask("OPTIONS /api/v1/experiments HTTP/1.1\r\n" + from);
  EXPECT_EQ(before.headers.count("Access-Control-Allow-Methods"), 0u);
}

class CrossOriginTest : public GatewayTest {
 protected:
  CrossOriginTest() : GatewayTest({.allow_origins = {"https://a.example"}}) {}
};

TEST_F(CrossOriginTest, LetsThePagesInThatAreNamed) {
  for (const char* path :
       {"/api/v1/experiments/1", "/api/v1/experiments/404", "/api/v1/experiments/1/watch"}) {
    const std::string get = std::string("GET ") + path + " HTTP/1.1\r\nOrigin: ";
    const Answer named = Ask(get + "https://a.example\r\n");
    EXPECT_EQ(named.headers.at("Access-Control-Allow-Origin"), "https://a.example") << path;
    EXPECT_EQ(named.headers.at("Vary").find("Origin"), 0u);
    const Answer other = Ask(get + "https://b.example\r\n");
    EXPECT_EQ(other.headers.count("Access-Control-Allow-Origin"), 0u) << path;
    EXPECT_EQ(other.headers.at("Vary").find("Origin"), 0u);
  }
  const Answer before =
      Ask("OPTIONS /api/v1/experiments HTTP/1.1\r\nOrigin: https://a.example\r\n"
          "Access-Control-Request-Method: POST\r\n");
  EXPECT_EQ(before.status, 204);
  EXPECT_NE(before.headers.at("Access-Control-Allow-Methods").find("POST"), std::string::npos);
  EXPECT_NE(before.headers.at("Access-Control-Allow-Headers").find("Authorization"),
            std::string::npos);
}

TEST_F(GatewayTest, ServesGrpcOnTheSamePort) {
  const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(gateway_->port()),
                                           grpc::InsecureChannelCredentials());
  const auto stub = api::ExperimentService::NewStub(channel);
  {
    grpc::ClientContext context;
    api::GetExperimentRequest request;
    request.set_experiment_id(5);
    api::GetExperimentResponse response;
    const grpc::Status status = stub->GetExperiment(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.experiment().id(), 5);
  }
  grpc::ClientContext context;
  api::WatchExperimentRequest request;
  request.set_experiment_id(3);
  const auto reader = stub->WatchExperiment(&context, request);
  api::WatchExperimentResponse response;
  int count = 0;
  while (reader->Read(&response)) ++count;
  EXPECT_EQ(count, 3);
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(GatewayTest, APortThatIsBoundAnswersOnceAServerIsStartedOnIt) {
  HttpOptions options;
  options.port = 0;
  absl::StatusOr<base::Fd> port = BindPort(options);
  ASSERT_TRUE(port.ok()) << port.status();
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  ASSERT_EQ(::getsockname(port->get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  asio::io_context io;
  const tcp::endpoint endpoint(asio::ip::address_v4::loopback(), ntohs(address.sin_port));
  boost::system::error_code error;
  tcp::socket(io).connect(endpoint, error);
  EXPECT_EQ(error, asio::error::connection_refused);

  options.socket = port->Release();
  const auto server = HttpServer::Start(options, {}, server_.get(), {});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->port(), endpoint.port());
  tcp::socket(io).connect(endpoint, error);
  EXPECT_FALSE(error) << error.message();
  EXPECT_EQ(BindPort({.port = endpoint.port()}).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(GatewayTest, SaysThatThePortIsTaken) {
  HttpOptions options;
  options.port = gateway_->port();
  const auto second = HttpServer::Start(options, {}, server_.get(), {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_NE(second.status().message().find("is in use; choose another with --port"),
            std::string::npos)
      << second.status();
}

}  // namespace
}  // namespace det::gateway
