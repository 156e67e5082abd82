// Streams through the gateway, and calls whose client disconnects.
#include <algorithm>
#include <future>
#include <string>

#include "master/gateway/testing/gateway_fixture.h"
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>

namespace det::gateway {
namespace {

TEST_F(GatewayTest, StreamsAsLines) {
  const HttpResponse response = SendRequest("GET /api/v1/experiments/3/watch HTTP/1.1\r\n");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at("Content-Type"), "application/x-ndjson");
  EXPECT_EQ(std::count(response.body.begin(), response.body.end(), '\n'), 3);
  EXPECT_EQ(response.body.find("{\"result\":{\"experiment\":{\"id\":1"), 0u) << response.body;
}

TEST_F(GatewayTest, StreamsAsServerSentEvents) {
  const HttpResponse response =
      SendRequest("GET /api/v1/experiments/2/watch HTTP/1.1\r\nAccept: text/event-stream\r\n");
  EXPECT_EQ(response.headers.at("Content-Type"), "text/event-stream");
  EXPECT_EQ(response.body.find("data: {\"result\":"), 0u);
  EXPECT_NE(response.body.find("\n\ndata: "), std::string::npos);
}

TEST_F(GatewayTest, StreamsToHttp10ClientUntilClose) {
  const HttpResponse response = SendRequest("GET /api/v1/experiments/2/watch HTTP/1.0\r\n");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(std::count(response.body.begin(), response.body.end(), '\n'), 2);
}

TEST_F(GatewayTest, ReportsEndOfStream) {
  const HttpResponse refused = SendRequest("GET /api/v1/experiments/404/watch HTTP/1.1\r\n");
  EXPECT_EQ(refused.status, 404);
  EXPECT_NE(
      refused.body.find(R"("grpcCode":5,"httpCode":404,"httpStatus":"Not Found","message":")"),
      std::string::npos)
      << refused.body;
  const HttpResponse broken = SendRequest("GET /api/v1/experiments/7/watch HTTP/1.1\r\n");
  EXPECT_EQ(broken.status, 200);
  EXPECT_NE(broken.body.find("\"reason\":\"Aborted\""), std::string::npos) << broken.body;
  EXPECT_NE(broken.body.find("\"httpStatus\":\"Conflict\""), std::string::npos) << broken.body;
}

// A client that reused the connection would lose its next request.
TEST_F(GatewayTest, AnnouncesThatFailedStreamClosesConnection) {
  tcp::socket socket = Connect();
  Send(socket, "GET /api/v1/experiments/404/watch HTTP/1.1\r\nHost: x\r\n\r\n");
  const HttpResponse response = Receive(socket);
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.headers.at("Connection"), "close");
}

TEST_F(GatewayTest, JoinsStreamsOverOneConnection) {
  const HttpResponse response = SendRequest(
      "GET /api/v1/streams?of=%2Fapi%2Fv1%2Fexperiments%2F3%2Fwatch%3Fpoints%3Dtrue"
      "&of=/api/v1/experiments/7/watch&of=/api/v1/experiments/404/watch"
      "&of=/api/v1/experiments/3&of=/api/v1/nothing HTTP/1.1\r\n");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at("Content-Type"), "text/event-stream");
  const auto count = [&](const std::string& text) {
    size_t found = 0;
    for (size_t at = 0; (at = response.body.find(text, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count("data: {\"stream\":0,\"result\":{\"experiment\":{\"id\":"), 3u) << response.body;
  EXPECT_EQ(count("data: {\"stream\":0,\"end\":true}\n\n"), 1u) << response.body;
  EXPECT_EQ(count("data: {\"stream\":1,\"result\":"), 2u) << response.body;
  EXPECT_EQ(count("data: {\"stream\":1,\"status\":409,\"error\":{\"code\":10,"), 1u)
      << response.body;
  EXPECT_EQ(count("data: {\"stream\":2,\"status\":404,\"error\":{"), 1u) << response.body;
  EXPECT_EQ(count("data: {\"stream\":3,\"status\":400,\"error\":{"), 1u) << response.body;
  EXPECT_EQ(count("data: {\"stream\":4,\"status\":404,\"error\":{"), 1u) << response.body;
  EXPECT_EQ(count("data: "), 3u + 1 + 2 + 1 + 3);
}

TEST_F(GatewayTest, RejectsStreamsWithoutAddresses) {
  EXPECT_EQ(SendRequest("GET /api/v1/streams HTTP/1.1\r\n").status, 400);
  EXPECT_EQ(SendRequest("GET /api/v1/streams?off=1 HTTP/1.1\r\n").status, 400);
  std::string many = "GET /api/v1/streams?";
  for (int i = 0; i < 65; ++i) many += "of=/api/v1/experiments/1/watch&";
  EXPECT_EQ(SendRequest(many + " HTTP/1.1\r\n").status, 400);
  EXPECT_EQ(SendRequest("POST /api/v1/streams?of=/api/v1/experiments/1/watch HTTP/1.1\r\n").status,
            404);
}

TEST_F(GatewayTest, EndsAllCalls_WhenClientDisconnects) {
  {
    tcp::socket socket = Connect();
    Send(socket,
         "GET /api/v1/streams?of=/api/v1/experiments/1/watch&of=/api/v1/experiments/100/watch "
         "HTTP/1.1\r\nHost: x\r\n\r\n");
    std::string seen;
    while (seen.find("{\"stream\":1,\"result\":") == std::string::npos) {
      char bytes[512];
      seen.append(bytes, socket.read_some(asio::buffer(bytes)));
    }
  }
  fake_.canceled.get_future().wait();
}

TEST_F(GatewayTest, EndsCall_WhenClientDisconnects) {
  {
    tcp::socket socket = Connect();
    Send(socket, "GET /api/v1/experiments/100/watch HTTP/1.1\r\nHost: x\r\n\r\n");
    asio::streambuf buffer;
    asio::read_until(socket, buffer, "\n{\"result\"");
  }
  fake_.canceled.get_future().wait();
}

class LongPollTest : public GatewayTest {
 protected:
  LongPollTest() : GatewayTest({.long_polls = {"det.api.v1.ExperimentService.GetExperiment"}}) {}
};

TEST_F(LongPollTest, EndsCall_WhenClientDisconnects) {
  {
    tcp::socket socket = Connect();
    for (const std::string id : {"1", "2", "100"}) {
      Send(socket, "GET /api/v1/experiments/" + id + " HTTP/1.1\r\nHost: x\r\n\r\n");
      if (id == "100") break;
      EXPECT_EQ(Receive(socket).status, 200);
    }
    fake_.waiting.get_future().wait();
  }
  fake_.canceled.get_future().wait();
}

TEST_F(GatewayTest, StopsWithOpenStream) {
  tcp::socket socket = Connect();
  Send(socket, "GET /api/v1/experiments/100/watch HTTP/1.1\r\nHost: x\r\n\r\n");
  asio::streambuf buffer;
  asio::read_until(socket, buffer, "{\"result\"");
}

}  // namespace
}  // namespace det::gateway
