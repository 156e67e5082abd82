// Request bodies, malformed clients, authentication and connection limits of the gateway.
#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>

#include "master/gateway/testing/gateway_fixture.h"
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>

namespace det::gateway {
namespace {

TEST_F(GatewayTest, LimitsBodySize) {
  const std::string content(4 << 20, 'A');  // base64 of 3 MiB of zeros
  const HttpResponse large =
      SendRequest("POST /api/v1/experiments HTTP/1.1\r\nAuthorization: Bearer abc\r\n",
                  "{\"modelDefinition\":[{\"path\":\"x\",\"content\":\"" + content + "\"}]}");
  EXPECT_EQ(large.status, 200);
  EXPECT_NE(large.body.find("\"modelDefinitionSize\":3145728"), std::string::npos);
  tcp::socket socket = Connect();
  Send(socket, "POST /api/v1/experiments HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n");
  EXPECT_EQ(Receive(socket).status, 413);
}

TEST_F(GatewayTest, LimitsBodiesOfUnauthenticatedCallers) {
  tcp::socket socket = Connect();
  Send(socket, "POST /api/v1/experiments HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n");
  EXPECT_EQ(Receive(socket).status, 413);
}

// Beast throws for a field of 64 KiB.
TEST_F(GatewayTest, SurvivesLongTrailers) {
  const std::string field = "X: " + std::string(70'000, 'a') + "\r\n\r\n";
  for (const char* target : {"/api/v1/auth/login", "/proxy/task/"}) {
    tcp::socket socket = Connect();
    Send(socket, "POST " + std::string(target) +
                     " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + field);
    boost::system::error_code error;
    std::array<char, 1024> answer;
    while (!error) socket.read_some(asio::buffer(answer), error);
  }
  EXPECT_EQ(SendRequest("GET / HTTP/1.1\r\n", "").status, 200);
}

TEST_F(GatewayTest, HandlesExpectContinue) {
  tcp::socket socket = Connect();
  Send(socket,
       "POST /api/v1/experiments HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
       "Content-Length: 15\r\n\r\n");
  asio::streambuf buffer;
  asio::read_until(socket, buffer, "\r\n\r\n");
  const std::string go(static_cast<const char*>(buffer.data().data()), buffer.size());
  EXPECT_EQ(go, "HTTP/1.1 100 Continue\r\n\r\n");
  Send(socket, R"({"config": "c"})");
  EXPECT_EQ(Receive(socket).status, 200);
}

TEST_F(GatewayTest, SurvivesMalformedClients) {
  tcp::socket silent = Connect();  // sends nothing
  tcp::socket slow = Connect();    // one byte, which may begin HTTP/1.1 or HTTP/2
  Send(slow, "P");
  tcp::socket half = Connect();  // half a request
  Send(half, "GET /api/v1/exper");
  tcp::socket noise = Connect();
  Send(noise, "\x16\x03\x01\x02 this is not HTTP\r\n\r\n");
  EXPECT_EQ(Receive(noise).status, 400);
  const HttpResponse control =
      SendRequest("GET /api/v1/experiments/1 HTTP/1.1\r\nAuthorization: Bearer \xff\xfe\r\n");
  EXPECT_EQ(control.status, 401);
  {
    tcp::socket gone = Connect();
    Send(gone, "POST /api/v1/experiments HTTP/1.1\r\nContent-Length: 100\r\n\r\nabc");
  }
  EXPECT_EQ(SendRequest("GET /api/v1/experiments/1 HTTP/1.1\r\n").status, 200);
  Send(slow, "OST /api/v1/experiments HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(Receive(slow).status, 200);
}

TEST_F(GatewayTest, NamesUnprintableParameter) {
  const HttpResponse query = SendRequest("GET /api/v1/experiments?name=a%ff HTTP/1.1\r\n");
  EXPECT_EQ(query.status, 400);
  EXPECT_NE(query.body.find("name: the value is not UTF-8"), std::string::npos) << query.body;
  const HttpResponse path = SendRequest("GET /api/v1/experiments/%ff HTTP/1.1\r\n");
  EXPECT_EQ(path.status, 400);
  EXPECT_NE(path.body.find("experiment_id"), std::string::npos) << path.body;
  const HttpResponse body =
      SendRequest("POST /api/v1/experiments HTTP/1.1\r\n", "{\"config\": \"a\xff\"}");
  EXPECT_EQ(body.status, 400);
  EXPECT_NE(body.body, "");
}

TEST_F(GatewayTest, RejectsConflictingContentLengths) {
  for (const char* lengths : {"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
                              "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
                              "Content-Length: 2\r\nContent-Length: 3\r\n"}) {
    tcp::socket socket = Connect();
    Send(socket, std::string("POST /api/v1/experiments HTTP/1.1\r\nHost: x\r\n") + lengths +
                     "\r\n2\r\n{}\r\n0\r\n\r\n");
    const HttpResponse response = Receive(socket);
    EXPECT_EQ(response.status, 400);
    EXPECT_NE(response.body.find("Content-Length"), std::string::npos) << response.body;
    EXPECT_EQ(response.headers.at("Connection"), "close");
  }
}

TEST_F(GatewayTest, DeliversResponseToClientThatIsStillSending) {
  tcp::socket socket = Connect();
  Send(socket,
       "POST /api/v1/nothing HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer abc\r\n"
       "Content-Length: 6000000\r\n\r\n");
  Send(socket, std::string(6'000'000, 'x'));
  EXPECT_EQ(Receive(socket).status, 404);
}

// Allows everything with the token "good", and CreateExperiment without one.
HttpHooks AuthenticationHooks() {
  HttpHooks hooks;
  hooks.authorize = [](const std::string& method, const std::string& authorization, auto reply) {
    if (authorization == "Bearer good") {
      return reply(AuthorizedCaller{.identified = true, .ticket = "ticket"});
    }
    if (method == "det.api.v1.ExperimentService.CreateExperiment") return reply(AuthorizedCaller{});
    reply(absl::UnauthenticatedError("log in"));
  };
  return hooks;
}

class GatewayAuthenticationTest : public GatewayTest {
 protected:
  GatewayAuthenticationTest() : GatewayTest({}, AuthenticationHooks()) {}
};

TEST_F(GatewayAuthenticationTest, RejectsBeforeReadingBody) {
  tcp::socket socket = Connect();
  // The client sends no byte of the body, and the gateway requests none.
  Send(socket,
       "POST /api/v1/experiments/3/kill HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bad\r\n"
       "Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n");
  const HttpResponse response = Receive(socket);
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(response.headers.at("Connection"), "close");
}

TEST_F(GatewayAuthenticationTest, ReportsMalformedPathToUnauthenticatedCaller) {
  EXPECT_EQ(SendRequest("GET /api/v1/experiments/many HTTP/1.1\r\n").status, 400);
  EXPECT_EQ(SendRequest("GET /api/v1/experiments?limit=many HTTP/1.1\r\n").status, 400);
}

TEST_F(GatewayAuthenticationTest, RefusesStreamInItsOwnForm) {
  const HttpResponse response = SendRequest("GET /api/v1/experiments/3/watch HTTP/1.1\r\n");
  EXPECT_EQ(response.status, 401);
  EXPECT_NE(response.body.find(R"("httpStatus":"Unauthorized")"), std::string::npos)
      << response.body;
}

TEST_F(GatewayAuthenticationTest, AcceptsTokenInUserTokenHeader) {
  EXPECT_EQ(SendRequest("GET /api/v1/experiments/1 HTTP/1.1\r\n"
                        "Grpc-Metadata-x-user-token: Bearer good\r\n")
                .status,
            200);
}

TEST_F(GatewayAuthenticationTest, PassesOnlyTicketOfItsOwnDecisionToService) {
  const HttpResponse response = SendRequest(
      "GET /api/v1/experiments/1 HTTP/1.1\r\nAuthorization: Bearer good\r\n"
      "X-Authorization-Ticket: forged\r\n");
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find("\"originalConfig\":\"ticket\""), std::string::npos)
      << response.body;
}

TEST_F(GatewayAuthenticationTest, KeepsConnection_WhenRejectedRequestHasNoBody) {
  tcp::socket socket = Connect();
  Send(socket, "GET /api/v1/experiments/1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(Receive(socket).status, 401);
  Send(socket,
       "GET /api/v1/experiments/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n");
  EXPECT_EQ(Receive(socket).status, 200);
}

TEST_F(GatewayAuthenticationTest, LimitsBody_WhenTokenIsInvalid) {
  tcp::socket socket = Connect();
  Send(socket,
       "POST /api/v1/experiments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bad\r\n"
       "Content-Length: 70000\r\n\r\n");
  EXPECT_EQ(Receive(socket).status, 413);
  tcp::socket chunks = Connect();
  Send(chunks,
       "POST /api/v1/experiments HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
       "11170\r\n" +
           std::string(70'000, 'x') + "\r\n0\r\n\r\n");
  EXPECT_EQ(Receive(chunks).status, 413);
  EXPECT_EQ(SendRequest("POST /api/v1/experiments HTTP/1.1\r\n", "{}").status, 200);
}

class CrowdedTest : public GatewayTest {
 protected:
  CrowdedTest() : GatewayTest({.connection_limit = 2}) {}

  // Opens an HTTP/2 connection when the limit allows it, and waits for gRPC's first frame.
  tcp::socket ConnectHttp2() {
    const std::string hello =
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\0\0\0\4\0\0\0\0\0", 9);
    while (true) {
      tcp::socket socket = Connect();
      boost::system::error_code error;
      asio::write(socket, asio::buffer(hello), error);
      char frame[9];
      if (asio::read(socket, asio::buffer(frame), error) != sizeof(frame)) continue;
      EXPECT_EQ(frame[3], 4);  // SETTINGS
      return socket;
    }
  }
  // Whether a new connection is served. A connection over the limit is closed at once.
  bool IsServed() {
    tcp::socket socket = Connect();
    boost::system::error_code error;
    const std::string request = "GET / HTTP/1.0\r\n\r\n";
    asio::write(socket, asio::buffer(request), error);
    char byte;
    return asio::read(socket, asio::buffer(&byte, 1), error) == 1;
  }
};

TEST_F(CrowdedTest, CountsHttpAndGrpcConnections) {
  tcp::socket grpc = ConnectHttp2();
  {
    tcp::socket plain = Connect();
    Send(plain, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(Receive(plain).status, 200);
    EXPECT_FALSE(IsServed());
  }
  while (!IsServed()) std::this_thread::yield();
  tcp::socket other = ConnectHttp2();
  EXPECT_FALSE(IsServed());
  grpc.close();
  while (!IsServed()) std::this_thread::yield();
  // A broken connection also frees its slot.
  other.set_option(asio::socket_base::linger(true, 0));
  other.close();
  tcp::socket last = ConnectHttp2();
  while (!IsServed()) std::this_thread::yield();
}

}  // namespace
}  // namespace det::gateway
