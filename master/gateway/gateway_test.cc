// Requests to the gateway and its responses.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "master/gateway/gzip.h"
#include "master/gateway/testing/gateway_fixture.h"
#include <boost/asio/connect.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>

namespace det::gateway {
namespace {

TEST_F(GatewayTest, ServesUnaryCallAsJson) {
  const HttpResponse response =
      SendRequest("GET /api/v1/experiments/42 HTTP/1.1\r\nAuthorization: Bearer abc\r\n");
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find("\"id\":42"), std::string::npos) << response.body;
  EXPECT_NE(response.body.find("\"name\":\"Bearer abc\""), std::string::npos) << response.body;
  EXPECT_EQ(response.headers.at("Content-Type"), "application/json");
}

TEST_F(GatewayTest, ReturnsRequestedFields) {
  const HttpResponse response = SendRequest(
      "GET /api/v1/experiments/42?fields=experiment.id%2Cexperiment.notes HTTP/1.1\r\n");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, R"({"experiment":{"id":42,"notes":""}})");
  EXPECT_EQ(SendRequest("GET /api/v1/experiments/42?fields=experiment.id&fields=experiment.notes "
                        "HTTP/1.1\r\n")
                .body,
            response.body);
  // The mask is checked before the call, which would return NOT_FOUND.
  const HttpResponse refused =
      SendRequest("GET /api/v1/experiments/404?fields=experiment.nam HTTP/1.1\r\n");
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("the nearest is \\\"name\\\""), std::string::npos) << refused.body;
  // The mask does not apply to errors.
  EXPECT_NE(SendRequest("GET /api/v1/experiments/404?fields=experiment.id HTTP/1.1\r\n")
                .body.find("not found"),
            std::string::npos);
}

TEST_F(GatewayTest, PassesThroughHttpBody) {
  const HttpResponse response =
      SendRequest("GET /resources/allocation/raw?timestamp_after=2026-11-20 HTTP/1.1\r\n");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at("Content-Type"), "text/csv");
  EXPECT_EQ(response.body, "after\n2026-11-20\n");
}

TEST_F(GatewayTest, AcceptsBodyWithoutContentType) {
  const HttpResponse response = SendRequest("POST /api/v1/experiments HTTP/1.1\r\n",
                                            R"({"config": "a: b", "parentId": null})");
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find("\"originalConfig\":\"a: b\""), std::string::npos) << response.body;
}

TEST_F(GatewayTest, ReturnsErrorsAsJson) {
  HttpResponse response = SendRequest("GET /api/v1/experiments/404 HTTP/1.1\r\n");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body,
            R"({"error":{"code":5,"error":"experiment 404 not found","reason":"NotFound"}})");
  EXPECT_EQ(SendRequest("GET /api/v1/experiments/many HTTP/1.1\r\n").status, 400);
  EXPECT_EQ(SendRequest("POST /api/v1/experiments HTTP/1.1\r\n", "{").status, 400);
  EXPECT_EQ(SendRequest("GET /api/v1/nothing HTTP/1.1\r\n").status, 404);
  response = SendRequest("PUT /api/v1/experiments HTTP/1.1\r\n");
  EXPECT_EQ(response.status, 405);
  EXPECT_NE(response.body.find("GET, POST"), std::string::npos) << response.body;
  // Existing clients read another member of errors outside of /api/v1.
  response = SendRequest("GET /nothing HTTP/1.1\r\n");
  EXPECT_EQ(response.status, 404);
  EXPECT_NE(response.body.find(R"("message":"unknown path /nothing")"), std::string::npos)
      << response.body;
  // No service behind the gateway implements the method.
  EXPECT_EQ(SendRequest("POST /api/v1/experiments/3/kill HTTP/1.1\r\n").status, 501);
}

TEST_F(GatewayTest, RedirectsFormerPathOfDashboard) {
  const HttpResponse response = SendRequest("GET /det HTTP/1.1\r\n");
  EXPECT_EQ(response.status, 301);
  EXPECT_EQ(response.headers.at("Location"), "/");
}

TEST_F(GatewayTest, KeepsConnectionAlive) {
  tcp::socket socket = Connect();
  for (int id : {1, 404, 2}) {
    Send(socket, "GET /api/v1/experiments/" + std::to_string(id) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(Receive(socket).status, id == 404 ? 404 : 200);
  }
}

TEST_F(GatewayTest, ServesAboutAndMetrics) {
  EXPECT_EQ(SendRequest("GET / HTTP/1.1\r\n").body, "about this server\n");
  EXPECT_EQ(SendRequest("GET /metrics HTTP/1.1\r\n").body, "up 1\n");
  const HttpResponse head = SendRequest("HEAD / HTTP/1.1\r\n");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("Content-Length"), "18");
  EXPECT_EQ(SendRequest("OPTIONS /api/v1/experiments HTTP/1.1\r\n").status, 204);
}

TEST_F(GatewayTest, SetsRequestId) {
  const std::string mine = "X-Request-Id: mine-7\r\n";
  const HttpResponse named = SendRequest("GET /api/v1/experiments/1 HTTP/1.1\r\n" + mine);
  EXPECT_EQ(named.headers.at("X-Request-Id"), "mine-7");
  EXPECT_NE(named.body.find("\"description\":\"mine-7 127.0.0.1 \""), std::string::npos)
      << named.body;
  for (const char* path : {"/", "/api/v1/nothing", "/api/v1/experiments/404", "/metrics",
                           "/api/v1/experiments/2/watch", "/api/v1/experiments/404/watch"}) {
    const std::string request = std::string("GET ") + path + " HTTP/1.1\r\n";
    EXPECT_EQ(SendRequest(request + mine).headers.at("X-Request-Id"), "mine-7") << path;
    EXPECT_EQ(SendRequest(request).headers.at("X-Request-Id").size(), 36u) << path;
  }
  const HttpResponse made = SendRequest("GET /api/v1/experiments/1 HTTP/1.1\r\n");
  EXPECT_NE(made.body.find(made.headers.at("X-Request-Id")), std::string::npos) << made.body;
  for (const std::string& odd : {std::string(129, 'x'), std::string("a b"), std::string("\x80")}) {
    const HttpResponse other =
        SendRequest("GET /api/v1/experiments/1 HTTP/1.1\r\nX-Request-Id: " + odd + "\r\n");
    EXPECT_EQ(other.headers.at("X-Request-Id").size(), 36u);
  }
}

TEST_F(GatewayTest, AcceptsLegacyAllocationTokenHeader) {
  const HttpResponse response = SendRequest(
      "GET /api/v1/experiments/1 HTTP/1.1\r\n"
      "grpc-metadata-X-Allocation-Token: Bearer t.1\r\n");
  EXPECT_NE(response.body.find("\"name\":\"Bearer t.1\""), std::string::npos) << response.body;
  const HttpResponse both = SendRequest(
      "GET /api/v1/experiments/1 HTTP/1.1\r\nAuthorization: Bearer own\r\n"
      "Grpc-Metadata-x-allocation-token: Bearer t.1\r\n");
  EXPECT_NE(both.body.find("\"name\":\"Bearer own\""), std::string::npos) << both.body;
}

TEST_F(GatewayTest, PassesIdempotencyKey) {
  const HttpResponse response = SendRequest(
      "GET /api/v1/experiments/1 HTTP/1.1\r\nX-Request-Id: r\r\nIdempotency-Key: k 1\r\n");
  EXPECT_NE(response.body.find("r 127.0.0.1 k 1"), std::string::npos) << response.body;
}

TEST_F(GatewayTest, SetsRetryAfter) {
  const HttpResponse response = SendRequest("GET /api/v1/experiments/429 HTTP/1.1\r\n");
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.headers.at("Retry-After"), "7");
}

TEST_F(GatewayTest, CompressesLongResponses_WhenAccepted) {
  const HttpResponse plain = SendRequest("GET /api/v1/experiments/2000 HTTP/1.1\r\n");
  EXPECT_EQ(plain.headers.count("Content-Encoding"), 0u);
  EXPECT_EQ(plain.headers.at("Vary"), "Accept-Encoding");
  const std::string takes = "Accept-Encoding: br, gzip;q=0.5\r\nX-Request-Id: x\r\n";
  const HttpResponse packed = SendRequest("GET /api/v1/experiments/2000 HTTP/1.1\r\n" + takes);
  ASSERT_EQ(packed.headers.at("Content-Encoding"), "gzip");
  EXPECT_LT(packed.body.size(), plain.body.size());
  const auto text = Gunzip(packed.body, 1 << 20);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_NE(text->find(Long()), std::string::npos);
  const HttpResponse refused =
      SendRequest("GET /api/v1/experiments/2000 HTTP/1.1\r\nAccept-Encoding: gzip;q=0\r\n");
  EXPECT_EQ(refused.headers.count("Content-Encoding"), 0u);
  const HttpResponse small = SendRequest("GET / HTTP/1.1\r\n" + takes);
  EXPECT_EQ(small.headers.count("Content-Encoding"), 0u);
}

TEST_F(GatewayTest, LimitsDecompressedBodies) {
  const std::string post =
      "POST /api/v1/experiments HTTP/1.1\r\nAuthorization: Bearer abc\r\nContent-Encoding: ";
  const HttpResponse good = SendRequest(post + "gzip\r\n", Gzip(R"({"config": "packed"})"));
  EXPECT_EQ(good.status, 200);
  EXPECT_NE(good.body.find("\"originalConfig\":\"packed\""), std::string::npos) << good.body;
  EXPECT_EQ(SendRequest(post + "gzip\r\n", Gzip(std::string(9 << 20, ' '))).status, 413);
  EXPECT_EQ(SendRequest("POST /api/v1/experiments HTTP/1.1\r\nContent-Encoding: gzip\r\n",
                        Gzip(std::string(70'000, ' ')))
                .status,
            413);
  EXPECT_EQ(SendRequest(post + "gzip\r\n", "{}").status, 400);
  EXPECT_EQ(SendRequest(post + "br\r\n", "{}").status, 415);
  EXPECT_EQ(SendRequest(post + "identity\r\n", "{}").status, 200);
}

TEST_F(GatewayTest, ServesOpenApiAndApiPage) {
  const HttpResponse json = SendRequest("GET /api/v1/openapi.json HTTP/1.1\r\n");
  EXPECT_EQ(json.status, 200);
  EXPECT_EQ(json.headers.at("Content-Type"), "application/json");
  EXPECT_NE(json.body.find("ExperimentService_GetExperiment"), std::string::npos);
  const HttpResponse page = SendRequest("GET /api HTTP/1.1\r\n");
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.body.find("</html>"), std::string::npos);
  EXPECT_NE(page.headers.at("Content-Security-Policy").find("default-src 'none'"),
            std::string::npos);
}

TEST_F(GatewayTest, RejectsOtherOriginsByDefault) {
  const std::string from = "Origin: https://a.example\r\n";
  const HttpResponse response = SendRequest("GET /api/v1/experiments/1 HTTP/1.1\r\n" + from);
  EXPECT_EQ(response.headers.count("Access-Control-Allow-Origin"), 0u);
  const HttpResponse before = SendRequest("OPTIONS /api/v1/experiments HTTP/1.1\r\n" + from);
  EXPECT_EQ(before.headers.count("Access-Control-Allow-Methods"), 0u);
}

class CrossOriginTest : public GatewayTest {
 protected:
  CrossOriginTest() : GatewayTest({.allow_origins = {"https://a.example"}}) {}
};

TEST_F(CrossOriginTest, AllowsListedOrigins) {
  for (const char* path :
       {"/api/v1/experiments/1", "/api/v1/experiments/404", "/api/v1/experiments/1/watch"}) {
    const std::string get = std::string("GET ") + path + " HTTP/1.1\r\nOrigin: ";
    const HttpResponse named = SendRequest(get + "https://a.example\r\n");
    EXPECT_EQ(named.headers.at("Access-Control-Allow-Origin"), "https://a.example") << path;
    EXPECT_EQ(named.headers.at("Vary").find("Origin"), 0u);
    const HttpResponse other = SendRequest(get + "https://b.example\r\n");
    EXPECT_EQ(other.headers.count("Access-Control-Allow-Origin"), 0u) << path;
    EXPECT_EQ(other.headers.at("Vary").find("Origin"), 0u);
  }
  const HttpResponse before = SendRequest(
      "OPTIONS /api/v1/experiments HTTP/1.1\r\nOrigin: https://a.example\r\n"
      "Access-Control-Request-Method: POST\r\n");
  EXPECT_EQ(before.status, 204);
  EXPECT_NE(before.headers.at("Access-Control-Allow-Methods").find("POST"), std::string::npos);
  EXPECT_NE(before.headers.at("Access-Control-Allow-Headers").find("Authorization"),
            std::string::npos);
}

TEST_F(GatewayTest, ServesGrpcOnSamePort) {
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

TEST_F(GatewayTest, ServesBoundPortOnceStarted) {
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

TEST_F(GatewayTest, ReportsPortInUse) {
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
