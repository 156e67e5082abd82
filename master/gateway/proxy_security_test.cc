// What the proxy must not carry: credentials, smuggled requests, and headers that would change what
// a browser stores for the master.
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/file.h"
#include "gtest/gtest.h"
#include "master/gateway/static_files.h"
#include "master/gateway/testing/proxy_fixture.h"

namespace det::gateway {
namespace {

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Sends this text as a response.
Target::Serve Respond(const std::string& text) {
  return [text](Target::Socket& socket) {
    while (!Target::ReadHead(socket).empty()) Target::Send(socket, text);
  };
}

TEST_F(ProxyTest, RemovesCredentialsForTheMasterFromRequests) {
  Run(Target::EchoHeads);
  const std::string head = Get("/proxy/task/",
                               "Authorization: Bearer t1\r\n"
                               "Cookie: det_session=t2; theme=dark; auth=t3\r\n"
                               "Cookie: __Host-det_session=t4; det_access=t5; _xsrf=own\r\n"
                               "Cookie: det_session=t6\r\n"
                               "X-Det-Session: cookie\r\nGrpc-Metadata-x-user-token: Bearer t7\r\n"
                               "Proxy-Authorization: Basic t8\r\n")
                               .body;
  EXPECT_TRUE(Contains(head, "Cookie: theme=dark\r\n")) << head;
  EXPECT_TRUE(Contains(head, "Cookie: _xsrf=own\r\n"));
  for (const char* secret : {"t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"}) {
    EXPECT_FALSE(Contains(head, secret)) << secret;
  }
  EXPECT_FALSE(Contains(head, "Authorization"));
  EXPECT_FALSE(Contains(head, "X-Det-"));
  EXPECT_FALSE(Contains(head, "Grpc-"));
}

TEST_F(ProxyTest, PresentsEachKindOfCredential) {
  Run(Target::EchoHeads);
  Get("/proxy/task/?a=b&token=from-address",
      "Authorization: Bearer t1\r\nCookie: det_session=t2; det_access=t3\r\n");
  EXPECT_EQ(state_->credentials.authorization, "Bearer t1");
  EXPECT_EQ(state_->credentials.access_token, "from-address");
  EXPECT_EQ(state_->credentials.session_cookie, "Bearer t2");
  EXPECT_EQ(state_->credentials.access_cookie, "t3");
  EXPECT_FALSE(state_->credentials.cross_site);
  Get("/proxy/task/", "Authorization: token of-jupyter\r\n");
  EXPECT_EQ(state_->credentials.authorization, "");
  EXPECT_EQ(state_->credentials.access_token, "of-jupyter");
  Get("/proxy/task/", "Authorization: Basic eA==\r\n");
  EXPECT_EQ(state_->credentials.authorization, "");
  EXPECT_EQ(state_->credentials.access_token, "");
}

TEST_F(ProxyTest, SetsACookieForTheToken_AndHidesTheToken) {
  Run(Target::EchoHeads);
  state_->service.access_token = "s3cret";
  state_->service.headers = {{"Authorization", "token of-jupyter"}};
  HttpResponse response = Get("/proxy/task/lab?token=s3cret&x=1", "Authorization: Bearer t\r\n");
  EXPECT_TRUE(response.body.starts_with("GET /proxy/task/lab?x=1 HTTP/1.1\r\n")) << response.body;
  EXPECT_FALSE(Contains(response.body, "s3cret"));
  EXPECT_TRUE(Contains(response.body, "Authorization: token of-jupyter\r\n"));
  EXPECT_EQ(response.headers["Set-Cookie"],
            "det_access=s3cret; Path=/proxy/task/; HttpOnly; SameSite=Lax");
  EXPECT_EQ(response.headers["Referrer-Policy"], "same-origin");
  response = Get("/proxy/task/lab?token=s3cret", "X-Forwarded-Proto: https\r\n");
  EXPECT_TRUE(Contains(response.headers["Set-Cookie"], "; Secure"));
  EXPECT_TRUE(response.body.starts_with("GET /proxy/task/lab HTTP/1.1\r\n")) << response.body;
  response = Get("/proxy/task/lab?token=wrong");
  EXPECT_EQ(response.headers.count("Set-Cookie"), 0U);
  EXPECT_FALSE(Contains(response.body, "wrong"));
}

TEST_F(ProxyTest, RestrictsCookiesOfProgramsToTheirService) {
  Run(
      Respond("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
              "Set-Cookie: det_session=evil; Path=/\r\n"
              "Set-Cookie: __Host-det_session=evil; Path=/; Secure\r\n"
              "Set-Cookie: auth=evil\r\n"
              "Set-Cookie: det_access=evil\r\n"
              "Set-Cookie: =det_session=evil\r\n"
              "Set-Cookie: det_session\r\n"
              "Set-Cookie: a=1; Path=/; Domain=example.org; HttpOnly\r\n"
              "Set-Cookie: b=2\r\n"
              "Set-Cookie: c=3; path=/proxy/task/lab\r\n\r\n"));
  EXPECT_EQ(Get("/proxy/task/").headers["Set-Cookie"],
            "a=1; HttpOnly; Path=/proxy/task/, b=2; Path=/proxy/task/, c=3; path=/proxy/task/lab");
}

TEST_F(ProxyTest, RemovesHeadersForTheWholeOriginAndForOneConnection) {
  Run(
      Respond("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nService-Worker-Allowed: /\r\n"
              "Clear-Site-Data: \"*\"\r\nStrict-Transport-Security: max-age=1\r\nAlt-Svc: x\r\n"
              "Keep-Alive: timeout=5\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nX-Own: 1\r\n"
              "\r\n"));
  HttpResponse response = Get("/proxy/task/");
  for (const char* name : {"Service-Worker-Allowed", "Clear-Site-Data", "Strict-Transport-Security",
                           "Alt-Svc", "Keep-Alive", "X-Hop"}) {
    EXPECT_EQ(response.headers.count(name), 0U) << name;
  }
  EXPECT_EQ(response.headers["X-Own"], "1");
}

TEST_F(ProxyTest, RemovesHeadersForOneConnectionFromRequests) {
  Run(Target::EchoHeads);
  const std::string head = Get("/proxy/task/",
                               "Connection: X-Hop, close\r\nX-Hop: 1\r\nKeep-Alive: 1\r\n"
                               "TE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n")
                               .body;
  for (const char* name : {"X-Hop", "Keep-Alive", "TE:", "Upgrade", "Connection"}) {
    EXPECT_FALSE(Contains(head, name)) << name << " in " << head;
  }
}

TEST_F(ProxyTest, ReportsCrossSiteRequests) {
  Run(Target::EchoHeads);
  const std::string foreign = "Origin: http://evil.example\r\n";
  const std::string websocket =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  const auto send = [&](const std::string& line, const std::string& headers) {
    tcp::socket socket = Connect();
    Send(socket, line + "Host: m\r\n" + headers + "\r\n");
    Receive(socket);
    return state_->credentials.cross_site;
  };
  EXPECT_FALSE(send("GET /proxy/task/ HTTP/1.1\r\n", foreign));
  EXPECT_TRUE(send("GET /proxy/task/ HTTP/1.1\r\n", foreign + websocket));
  EXPECT_FALSE(send("GET /proxy/task/ HTTP/1.1\r\n", "Origin: http://m\r\n" + websocket));
  EXPECT_TRUE(send("POST /proxy/task/ HTTP/1.1\r\n", foreign));
  EXPECT_TRUE(send("POST /proxy/task/ HTTP/1.1\r\n", "Origin: null\r\n"));
  EXPECT_TRUE(send("DELETE /proxy/task/ HTTP/1.1\r\n", "Origin: http://m.evil.example\r\n"));
  EXPECT_FALSE(send("POST /proxy/task/ HTTP/1.1\r\n", "Origin: https://m\r\n"));
  EXPECT_FALSE(send("POST /proxy/task/ HTTP/1.1\r\n", ""));
}

TEST_F(ProxyTest, NeverLeavesThePathsOfTheService) {
  Run(Target::EchoHeads);
  for (const char* path :
       {"/proxy/task/../../api/v1/master", "/proxy/task/%2e%2e/%2e%2e/api/v1/master",
        "/proxy/task/..%2f..%2fapi", "/proxy/task//api", "/proxy/task/\\..\\api"}) {
    const HttpResponse response = Get(path);
    // The program gets the path as it was sent; it is not resolved to another of the master's.
    EXPECT_TRUE(response.body.starts_with(std::string("GET ") + path + " HTTP/1.1\r\n")) << path;
    EXPECT_EQ(state_->name, "task");
  }
}

TEST_F(ProxyTest, RefusesPathsWithoutAService) {
  Run(Target::EchoHeads);
  for (const char* path : {"/proxy/", "/proxy/task", "/proxy//task/", "/proxy/a%2F..%2Fb/",
                           "/proxy/..%2f..%2fetc/", "/proxy/a b/", "/proxy/a;b/"}) {
    EXPECT_NE(Get(path).status, 200) << path;
  }
  EXPECT_EQ(target_->connections(), 0);
  EXPECT_EQ(Get("/proxy/task%3A8000/").status, 200);
  EXPECT_EQ(state_->name, "task:8000");
}

class SmugglingTest : public ProxyTest, public testing::WithParamInterface<const char*> {};

TEST_P(SmugglingTest, RefusesRequestsOfUnclearLength) {
  Run(Target::EchoBodies);
  tcp::socket socket = Connect();
  Send(socket, std::string("POST /proxy/task/ HTTP/1.1\r\nHost: m\r\n") + GetParam());
  socket.shutdown(tcp::socket::shutdown_send);
  const std::string text = ReadAll(socket);
  EXPECT_TRUE(text.starts_with("HTTP/1.1 400 ")) << text;
  // Nothing of it counts as another request.
  EXPECT_EQ(text.find("HTTP/1.1", 1), std::string::npos) << text;
  EXPECT_EQ(target_->connections(), 0);
}

constexpr char kBoth[] =
    "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n";
constexpr char kBothReversed[] =
    "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n";
constexpr char kTwoLengths[] = "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab";
constexpr char kLengthList[] = "Content-Length: 1, 2\r\n\r\nab";
constexpr char kSignedLength[] = "Content-Length: +1\r\n\r\na";
constexpr char kBareLineFeed[] = "X-A: b\nContent-Length: 5\r\n\r\nhello";
constexpr char kTwoEncodings[] =
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n";
constexpr char kOtherEncoding[] =
    "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n";
constexpr char kUnknownEncoding[] =
    "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n";
constexpr char kNotLastEncoding[] = "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n";
constexpr char kTwoHosts[] = "Host: other\r\nContent-Length: 0\r\n\r\n";
constexpr char kSpaceBeforeColon[] = "Content-Length : 5\r\n\r\nhello";
INSTANTIATE_TEST_SUITE_P(Requests, SmugglingTest,
                         testing::Values(kBoth, kBothReversed, kTwoLengths, kLengthList,
                                         kSignedLength, kBareLineFeed, kTwoEncodings,
                                         kOtherEncoding, kUnknownEncoding, kNotLastEncoding,
                                         kTwoHosts, kSpaceBeforeColon));

TEST_F(ProxyTest, SendsOneRequest_WhenTheLengthIsGivenTwice) {
  Run(Target::EchoBodies);
  tcp::socket socket = Connect();
  Send(socket,
       "POST /proxy/task/ HTTP/1.1\r\nHost: m\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(Receive(socket).body, "ok");
}

TEST_F(ProxyTest, EndsAChunkedBodyThatIsMalformed) {
  Run(Target::EchoBodies);
  tcp::socket socket = Connect();
  Send(socket,
       "POST /proxy/task/ HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n\r\n"
       "2\nab\r\n0\r\n\r\nGET /proxy/task/ HTTP/1.1\r\nHost: m\r\n\r\n");
  socket.shutdown(tcp::socket::shutdown_send);
  EXPECT_FALSE(Contains(ReadAll(socket), "200 OK"));
}

TEST_F(ProxyTest, RefusesResponsesOfUnclearLength) {
  Run(Respond("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"));
  EXPECT_EQ(Get("/proxy/task/").status, 502);
  Run(Respond("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"));
  EXPECT_EQ(Get("/proxy/task/").status, 502);
  // Nobody asked for another protocol.
  Run(Respond("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"));
  EXPECT_EQ(Get("/proxy/task/").status, 502);
}

TEST_F(ProxyTest, NeverReusesAConnectionWithUnrequestedBytes) {
  Run([](Target::Socket& socket) {
    Target::ReadHead(socket);
    Target::Send(socket,
                 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
                 "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
    Target::ReadHead(socket);
  });
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Get("/proxy/task/").body, "ok");
}

TEST_F(ProxyTest, RespondsWithTheStatusOfARefusal) {
  Run(Target::EchoHeads);
  const auto refuse = [&](absl::Status status) {
    state_->refusal = std::move(status);
    return Get("/proxy/task/").status;
  };
  EXPECT_EQ(refuse(absl::NotFoundError("service not found: task")), 404);
  EXPECT_EQ(refuse(absl::UnauthenticatedError("sign in")), 401);
  EXPECT_EQ(refuse(absl::PermissionDeniedError("wrong access token")), 403);
  EXPECT_EQ(refuse(absl::FailedPreconditionError("has ended")), 410);
  EXPECT_EQ(refuse(absl::UnavailableError("not ready")), 503);
  EXPECT_EQ(refuse(absl::ResourceExhaustedError("too many connections")), 503);
  EXPECT_EQ(target_->connections(), 0);
}

TEST_F(ProxyTest, ReadsNoBodyOfARefusedRequest) {
  Run(Target::EchoHeads);
  state_->refusal = absl::UnauthenticatedError("sign in");
  tcp::socket socket = Connect();
  Send(socket, "POST /proxy/task/ HTTP/1.1\r\nHost: m\r\nContent-Length: 1000000000\r\n\r\n");
  HttpResponse response = Receive(socket);
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(response.headers["Connection"], "close");
}

// With a dashboard.
class ProxySignInTest : public ProxyTest {
 protected:
  ProxySignInTest() : ProxyTest(MakeOptions()) { Run(Target::EchoHeads); }

 private:
  static HttpOptions MakeOptions() {
    const base::TempDir folder = *base::TempDir::Create("pages");
    EXPECT_TRUE(base::WriteFileAtomically(folder.path() + "/index.html", "<html>").ok());
    HttpOptions options;
    options.pages = std::make_shared<const StaticFiles>(*StaticFiles::Read(folder.path()));
    return options;
  }
};

TEST_F(ProxySignInTest, SendsBrowsersToTheSignInPage) {
  state_->refusal = absl::UnauthenticatedError("sign in");
  HttpResponse response = Get("/proxy/task:1/lab?a=b&c=%20d", "Accept: text/html\r\n");
  EXPECT_EQ(response.status, 303);
  EXPECT_EQ(response.headers["Location"], "/sign-in?next=/proxy/task%3A1/lab%3Fa%3Db%26c%3D%2520d");
  EXPECT_EQ(Get("/proxy/task/", "Accept: application/json\r\n").status, 401);
}

TEST_F(ProxySignInTest, ShowsNoDashboardPageForServices) {
  state_->refusal = absl::NotFoundError("service not found: task");
  EXPECT_EQ(Get("/proxy/task/", "Accept: text/html\r\n").status, 404);
  EXPECT_EQ(Get("/proxy/task", "Accept: text/html\r\n").status, 404);
}

}  // namespace
}  // namespace det::gateway
