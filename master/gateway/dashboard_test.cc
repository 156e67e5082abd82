// The dashboard and browser sessions, over a loopback socket.
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/file.h"
#include "det/api/v1/auth.grpc.pb.h"
#include "gtest/gtest.h"
#include "master/gateway/http_server.h"
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <grpcpp/grpcpp.h>

namespace det::gateway {
namespace {

namespace api = det::api::v1;
namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

// Has the user ann, whose session has one token. Returns the Authorization header of the call.
class FakeAuth final : public api::AuthService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Login(grpc::CallbackServerContext* context, const api::LoginRequest*,
                                  api::LoginResponse* response) override {
    response->set_token("t0k3n");
    response->mutable_user()->set_username(Caller(*context));
    return Finish(context);
  }
  grpc::ServerUnaryReactor* Logout(grpc::CallbackServerContext* context, const api::LogoutRequest*,
                                   api::LogoutResponse*) override {
    ended_by = Caller(*context);
    return Finish(context);
  }
  grpc::ServerUnaryReactor* GetMe(grpc::CallbackServerContext* context, const api::GetMeRequest*,
                                  api::GetMeResponse* response) override {
    response->mutable_user()->set_username(Caller(*context));
    return Finish(context);
  }

  std::string ended_by;

 private:
  static grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context) {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  static std::string Caller(const grpc::CallbackServerContext& context) {
    const auto it = context.client_metadata().find("authorization");
    return it == context.client_metadata().end()
               ? "nobody"
               : std::string(it->second.data(), it->second.size());
  }
};

constexpr char kOwn[] = "X-Det-Session: cookie\r\n";
constexpr char kCookie[] = "Cookie: other=1; det_session=t0k3n\r\n";
constexpr char kPage[] = "Accept: text/html,*/*\r\n";

class DashboardTest : public testing::Test {
 protected:
  DashboardTest() : folder_(*base::TempDir::Create("pages")) {
    Write("index.html", "<html>");
    Write("index.html.br", "brotli");
    Write("theme.js", "script");
    EXPECT_TRUE(base::MakeDirs(folder_.path() + "/assets").ok());
    Write("assets/x-1234.js", std::string(3000, 'x'));
    Write("assets/x-1234.js.br", "brotli");
    Write("assets/x-1234.js.gz", "gzip");
    grpc::ServerBuilder builder;
    builder.RegisterService(&auth_);
    server_ = builder.BuildAndStart();
    HttpOptions options;
    options.port = 0;
    options.about = "about this server\n";
    options.pages = std::make_shared<const StaticFiles>(*StaticFiles::Read(folder_.path()));
    options.session = {"det.api.v1.AuthService.Login", "det.api.v1.AuthService.Logout",
                       absl::Hours(1)};
    HttpHooks hooks;
    hooks.authorize = [](const std::string& method, const std::string& authorization, auto reply) {
      if (method != "det.api.v1.AuthService.Login" && authorization != "Bearer t0k3n") {
        return reply(absl::UnauthenticatedError("sign in"));
      }
      reply(AuthorizedCaller{.identified = !authorization.empty()});
    };
    const auto* pool = google::protobuf::DescriptorPool::generated_pool();
    gateway_ = *HttpServer::Start(options, hooks, server_.get(),
                                  {pool->FindServiceByName("det.api.v1.AuthService")});
  }
  ~DashboardTest() override {
    server_->Shutdown(std::chrono::system_clock::now());
    gateway_->Stop();
  }

  void Write(const std::string& name, const std::string& text) {
    EXPECT_TRUE(base::WriteFileAtomically(folder_.path() + "/" + name, text).ok());
  }

  struct HttpResponse {
    int status = 0;
    std::string body;
    std::map<std::string, std::string> headers;
  };
  // `first`: "GET /".
  HttpResponse SendRequest(const std::string& first, const std::string& headers = "") {
    asio::io_context io;
    tcp::socket socket(io);
    socket.connect({asio::ip::address_v4::loopback(), static_cast<uint16_t>(gateway_->port())});
    asio::write(socket, asio::buffer(first + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n" +
                                     headers + "\r\n"));
    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    http::read(socket, buffer, parser);
    HttpResponse response{static_cast<int>(parser.get().result_int()), parser.get().body(), {}};
    for (const auto& field : parser.get()) {
      response.headers[std::string(field.name_string())] = std::string(field.value());
    }
    return response;
  }

  base::TempDir folder_;
  FakeAuth auth_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<HttpServer> gateway_;
};

TEST_F(DashboardTest, ServesDashboardAtUnknownPaths) {
  for (const char* path :
       {"/", "/experiments/7/logs?level=error", "/det/experiments/7", "/tasks"}) {
    const HttpResponse response = SendRequest(std::string("GET ") + path, kPage);
    EXPECT_EQ(response.status, 200) << path;
    EXPECT_EQ(response.body, "<html>") << path;
    EXPECT_EQ(response.headers.at("Cache-Control"), "no-cache");
    const std::string& policy = response.headers.at("Content-Security-Policy");
    EXPECT_EQ(policy.find("unsafe"), std::string::npos) << policy;
    EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string::npos) << policy;
    EXPECT_EQ(response.headers.at("X-Content-Type-Options"), "nosniff");
  }
}

TEST_F(DashboardTest, ServesAboutToOtherClients) {
  EXPECT_EQ(SendRequest("GET /").body, "about this server\n");
  EXPECT_EQ(SendRequest("GET /nothing").status, 404);
  EXPECT_EQ(SendRequest("GET /api/v1/nothing", kPage).status, 404);
  EXPECT_EQ(SendRequest("POST /experiments/7", kPage).status, 404);
  // A file of an older dashboard, which a newer master does not have.
  EXPECT_EQ(SendRequest("GET /assets/old.js").status, 404);
}

TEST_F(DashboardTest, ServesPrecompressedFilesWithCaching) {
  const HttpResponse plain = SendRequest("GET /assets/x-1234.js");
  EXPECT_EQ(plain.body.size(), 3000u);
  EXPECT_EQ(plain.headers.at("Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(plain.headers.at("Cache-Control"), "public, max-age=31536000, immutable");
  const HttpResponse gzip = SendRequest("GET /assets/x-1234.js", "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(gzip.headers.at("Content-Encoding") + gzip.body, "gzipgzip");
  const HttpResponse brotli = SendRequest("GET /assets/x-1234.js", "Accept-Encoding: gzip, br\r\n");
  EXPECT_EQ(brotli.headers.at("Content-Encoding") + brotli.body, "brbrotli");
  EXPECT_EQ(SendRequest("GET /theme.js", "Accept-Encoding: br\r\n").body, "script");
  const HttpResponse known = SendRequest(
      "GET /",
      kPage + ("If-None-Match: " + SendRequest("GET /", kPage).headers.at("ETag") + "\r\n"));
  EXPECT_EQ(known.status, 304);
  EXPECT_EQ(known.body, "");
}

TEST_F(DashboardTest, ReturnsCookieInsteadOfToken) {
  const HttpResponse response = SendRequest("POST /api/v1/auth/login", kOwn);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body.find("t0k3n"), std::string::npos) << response.body;
  EXPECT_EQ(response.headers.at("Set-Cookie"),
            "det_session=t0k3n; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict");
  const HttpResponse secure =
      SendRequest("POST /api/v1/auth/login", std::string(kOwn) + "X-Forwarded-Proto: https\r\n");
  EXPECT_EQ(secure.headers.at("Set-Cookie"),
            "__Host-det_session=t0k3n; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict; Secure");
}

TEST_F(DashboardTest, ReturnsTokenToOtherClients) {
  const HttpResponse response = SendRequest("POST /api/v1/auth/login");
  EXPECT_NE(response.body.find("\"token\":\"t0k3n\""), std::string::npos) << response.body;
  EXPECT_EQ(response.headers.count("Set-Cookie"), 0u);
}

TEST_F(DashboardTest, AllowsReadsWithCookieAlone) {
  const HttpResponse response = SendRequest("GET /api/v1/me", kCookie);
  EXPECT_NE(response.body.find("Bearer t0k3n"), std::string::npos) << response.body;
}

TEST_F(DashboardTest, AllowsReadsWithCookieOfExistingClients) {
  EXPECT_EQ(SendRequest("GET /api/v1/me", "Cookie: auth=t0k3n\r\n").status, 200);
  EXPECT_EQ(SendRequest("POST /api/v1/auth/logout", "Cookie: auth=t0k3n\r\n").status, 401);
}

TEST_F(DashboardTest, RejectsWritesWithCookieAlone) {
  EXPECT_EQ(SendRequest("POST /api/v1/auth/logout", kCookie).status, 401);
  EXPECT_EQ(auth_.ended_by, "");
  const HttpResponse leave =
      SendRequest("OPTIONS /api/v1/auth/logout", "Origin: https://elsewhere\r\n");
  EXPECT_EQ(leave.headers.count("Access-Control-Allow-Headers"), 0u);
}

TEST_F(DashboardTest, PrefersHeaderOverCookie) {
  EXPECT_EQ(SendRequest("GET /api/v1/me", std::string(kCookie) + "Authorization: Bearer other\r\n")
                .status,
            401);
}

TEST_F(DashboardTest, ClearsCookieOnLogout) {
  const HttpResponse response =
      SendRequest("POST /api/v1/auth/logout", std::string(kOwn) + kCookie);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(auth_.ended_by, "Bearer t0k3n");
  EXPECT_EQ(response.headers.at("Set-Cookie"),
            "det_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
}

// The cookie may belong to another master on this host.
TEST_F(DashboardTest, IgnoresExpiredCookie) {
  const std::string over = "Cookie: det_session=old\r\n";
  const HttpResponse refused = SendRequest("GET /api/v1/me", kOwn + over);
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.headers.count("Set-Cookie"), 0u);
  const HttpResponse login = SendRequest("POST /api/v1/auth/login", kOwn + over);
  EXPECT_EQ(login.status, 200);
  EXPECT_NE(login.body.find("nobody"), std::string::npos) << login.body;
  EXPECT_EQ(SendRequest("GET /api/v1/me",
                        "Cookie: det_session=a\x80"
                        "b\r\n")
                .status,
            401);
}

TEST_F(DashboardTest, IgnoresCookieForGrpc) {
  const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(gateway_->port()),
                                           grpc::InsecureChannelCredentials());
  const auto stub = api::AuthService::NewStub(channel);
  grpc::ClientContext context;
  context.AddMetadata("cookie", "det_session=t0k3n");
  context.AddMetadata("x-det-session", "cookie");
  api::GetMeResponse response;
  const grpc::Status status = stub->GetMe(&context, {}, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.user().username(), "nobody");
}

TEST(StaticFilesTest, ReportsFolderWithoutIndex) {
  const auto folder = *base::TempDir::Create("pages");
  EXPECT_EQ(StaticFiles::Read(folder.path()).status().message(),
            folder.path() + " has no index.html");
  EXPECT_NE(StaticFiles::Read("/nowhere").status().message().find("/nowhere"),
            absl::string_view::npos);
}

}  // namespace
}  // namespace det::gateway
