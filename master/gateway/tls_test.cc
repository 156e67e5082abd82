// The gateway with TLS and a certificate authority of the test.
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/certificate_authority.h"
#include "base/file.h"
#include "det/api/v1/experiment.grpc.pb.h"
#include "gtest/gtest.h"
#include "master/gateway/http_server.h"
#include "master/gateway/tls_keys.h"
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <grpcpp/grpcpp.h>
#include <openssl/ssl.h>

namespace det::gateway {
namespace {

namespace api = det::api::v1;
namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using base::CertificateUse;
using base::CertificateAndKey;
using boost::system::error_code;
using Tls = asio::ssl::stream<tcp::socket>;

// Returns the name of its server, the address of the caller and the request.
class NamedExperiments final : public api::ExperimentService::CallbackService {
 public:
  explicit NamedExperiments(std::string name) : name_(std::move(name)) {}
  grpc::ServerUnaryReactor* GetExperiment(grpc::CallbackServerContext* context,
                                          const api::GetExperimentRequest*,
                                          api::GetExperimentResponse* response) override {
    response->mutable_experiment()->set_name(name_);
    const auto peer = context->client_metadata().find("x-peer");
    if (peer != context->client_metadata().end()) {
      response->mutable_experiment()->set_description(
          std::string(peer->second.data(), peer->second.size()));
    }
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerUnaryReactor* CreateExperiment(grpc::CallbackServerContext* context,
                                             const api::CreateExperimentRequest* request,
                                             api::CreateExperimentResponse* response) override {
    response->mutable_experiment()->set_original_config(request->config());
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerWriteReactor<api::WatchExperimentResponse>* WatchExperiment(
      grpc::CallbackServerContext*, const api::WatchExperimentRequest*) override {
    // Sends one message, then waits until the caller disconnects.
    class Stream final : public grpc::ServerWriteReactor<api::WatchExperimentResponse> {
     public:
      explicit Stream(std::promise<void>& ended) : ended_(ended) {
        message_.mutable_experiment()->set_id(1);
        StartWrite(&message_);
      }
      void OnCancel() override {
        ended_.set_value();
        Finish(grpc::Status::CANCELLED);
      }
      void OnDone() override { delete this; }

     private:
      std::promise<void>& ended_;
      api::WatchExperimentResponse message_;
    };
    return new Stream(watch_ended_);
  }

  // Set when the server notices that the client of the stream has disconnected.
  std::promise<void> watch_ended_;

 private:
  const std::string name_;
};

std::unique_ptr<grpc::Server> Serve(grpc::Service* service) {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(service);
  return builder.BuildAndStart();
}

class TlsTest : public testing::Test {
 protected:
  explicit TlsTest(HttpOptions options = {}) : options_(std::move(options)) {
    Write("master", MakeServerCertificate("master"));
    Write("ca", authority_);
    auto keys = TlsKeys::Load(Files());
    EXPECT_TRUE(keys.ok()) << keys.status();
    options_.port = 0;
    options_.about = "about this server\n";
    options_.body_limit = 32 << 20;
    options_.tls = *std::move(keys);
    options_.agents = agents_server_.get();
    auto started =
        HttpServer::Start(options_, {}, server_.get(),
                          {google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
                              "det.api.v1.ExperimentService")});
    EXPECT_TRUE(started.ok()) << started.status();
    gateway_ = *std::move(started);
  }
  ~TlsTest() override {
    gateway_->StopAccepting();
    server_->Shutdown(std::chrono::system_clock::now());
    agents_server_->Shutdown(std::chrono::system_clock::now());
    gateway_->Stop();
  }

  static CertificateAndKey Authority() {
    return *base::MakeCertificateAuthority("test", absl::Now() - absl::Hours(1), absl::Now() + absl::Hours(1));
  }
  CertificateAndKey Signed(const std::string& name, CertificateUse use,
                          absl::Duration left = absl::Hours(1)) const {
    return *base::SignCertificate(authority_, {.name = name,
                                    .hosts = {"localhost", "127.0.0.1"},
                                    .use = use,
                                    .from = absl::Now() - absl::Hours(1),
                                    .until = absl::Now() + left});
  }
  CertificateAndKey MakeServerCertificate(const std::string& name) const {
    return Signed(name, CertificateUse::kServer);
  }
  std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }
  void Write(const std::string& name, const CertificateAndKey& one) const {
    EXPECT_TRUE(base::WriteFileAtomically(Path(name + ".pem"), one.certificate).ok());
    EXPECT_TRUE(base::WriteFileAtomically(Path(name + ".key"), one.key).ok());
  }
  TlsFiles Files() const { return {Path("master.pem"), Path("master.key"), Path("ca.pem")}; }

  tcp::socket Connect() {
    tcp::socket socket(io_);
    socket.connect({asio::ip::address_v4::loopback(), static_cast<uint16_t>(gateway_->port())});
    return socket;
  }
  // `protocols` in ALPN's form, such as "\x02h2"; empty: without ALPN.
  std::unique_ptr<Tls> Handshake(const std::string& protocols = "",
                                 const std::optional<CertificateAndKey>& own = {}) {
    asio::ssl::context context(asio::ssl::context::tls_client);
    context.set_verify_mode(asio::ssl::verify_peer);
    context.add_certificate_authority(asio::buffer(authority_.certificate));
    if (own) {
      context.use_certificate_chain(asio::buffer(own->certificate));
      context.use_private_key(asio::buffer(own->key), asio::ssl::context::pem);
    }
    auto stream = std::make_unique<Tls>(Connect(), context);
    if (!protocols.empty()) {
      SSL_set_alpn_protos(stream->native_handle(),
                          reinterpret_cast<const unsigned char*>(protocols.data()),
                          static_cast<unsigned>(protocols.size()));
    }
    stream->handshake(asio::ssl::stream_base::client);
    return stream;
  }
  static std::string GetNegotiatedProtocol(Tls& stream) {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(stream.native_handle(), &name, &size);
    return std::string(reinterpret_cast<const char*>(name), size);
  }
  static std::string GetCertificateName(Tls& stream) {
    char name[256] = "";
    X509* const shown = SSL_get1_peer_certificate(stream.native_handle());
    X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, name, sizeof(name));
    X509_free(shown);
    return name;
  }
  template <class Stream>
  static std::pair<int, std::string> SendRequest(Stream& stream, const std::string& head,
                                                 const std::string& body = "") {
    asio::write(stream, asio::buffer(head + "Host: x\r\nContent-Length: " +
                                     std::to_string(body.size()) + "\r\n\r\n" + body));
    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(64 << 20);
    http::read(stream, buffer, parser);
    return {parser.get().result_int(), parser.get().body()};
  }
  // The name of the server that responds to a gRPC client.
  std::string CallServer(const grpc::SslCredentialsOptions& credentials) {
    const auto channel = grpc::CreateChannel("localhost:" + std::to_string(gateway_->port()),
                                             grpc::SslCredentials(credentials));
    grpc::ClientContext context;
    api::GetExperimentResponse response;
    const grpc::Status status = api::ExperimentService::NewStub(channel)->GetExperiment(
        &context, api::GetExperimentRequest(), &response);
    return status.ok() ? response.experiment().name() : status.error_message();
  }
  std::string CallServerAsAgent(const CertificateAndKey& own) {
    return CallServer({authority_.certificate, own.key, own.certificate});
  }

  HttpOptions options_;
  const base::TempDir dir_ = *base::TempDir::Create();
  const CertificateAndKey authority_ = Authority();
  asio::io_context io_;
  NamedExperiments all_{"all"};
  NamedExperiments agents_{"agents"};
  std::unique_ptr<grpc::Server> server_ = Serve(&all_);
  std::unique_ptr<grpc::Server> agents_server_ = Serve(&agents_);
  std::unique_ptr<HttpServer> gateway_;
};

TEST_F(TlsTest, ServesHttpWithClientAddress) {
  const auto stream = Handshake();
  EXPECT_EQ(SendRequest(*stream, "GET / HTTP/1.1\r\n"),
            std::make_pair(200, std::string("about this server\n")));
  const auto [status, body] = SendRequest(*stream, "GET /api/v1/experiments/1 HTTP/1.1\r\n");
  EXPECT_EQ(status, 200);
  EXPECT_NE(body.find("\"description\":\"127.0.0.1\""), std::string::npos) << body;
  EXPECT_NE(body.find("\"name\":\"all\""), std::string::npos) << body;
}

TEST_F(TlsTest, CarriesLargeBodiesBothWays) {
  const std::string large(8 << 20, 'x');
  const auto stream = Handshake();
  const auto [status, body] =
      SendRequest(*stream, "POST /api/v1/experiments HTTP/1.1\r\nAuthorization: Bearer a\r\n",
                  "{\"config\": \"" + large + "\"}");
  EXPECT_EQ(status, 200);
  EXPECT_NE(body.find(large), std::string::npos);
}

TEST_F(TlsTest, NegotiatesProtocolByAlpn) {
  EXPECT_EQ(GetNegotiatedProtocol(*Handshake("\x02h2\x08http/1.1")), "http/1.1");
  EXPECT_EQ(GetNegotiatedProtocol(*Handshake("\x08http/1.1")), "http/1.1");
  EXPECT_EQ(GetNegotiatedProtocol(*Handshake("\x02h2")), "h2");
  EXPECT_EQ(GetNegotiatedProtocol(*Handshake("\x04smtp")), "");
  EXPECT_EQ(GetNegotiatedProtocol(*Handshake()), "");
}

TEST_F(TlsTest, RoutesToAgentServerOnlyWithCertificate) {
  EXPECT_EQ(CallServer({authority_.certificate, "", ""}), "all");
  EXPECT_EQ(CallServerAsAgent(Signed("agent", CertificateUse::kClient)), "agents");
  EXPECT_EQ(CallServerAsAgent(Signed("agent", CertificateUse::kClient, -absl::Minutes(1))), "all");
  EXPECT_EQ(CallServerAsAgent(Signed("master", CertificateUse::kServer)), "all");
  const CertificateAndKey other_authority = Authority();
  const absl::Time now = absl::Now();
  EXPECT_EQ(
      CallServerAsAgent(*base::SignCertificate(other_authority, {.name = "agent",
                                                                 .use = CertificateUse::kClient,
                                                                 .from = now - absl::Hours(1),
                                                                 .until = now + absl::Hours(1)})),
      "all");
  // HTTP requests always go to the server for all clients.
  const auto stream = Handshake("", Signed("agent", CertificateUse::kClient));
  const auto [status, body] = SendRequest(*stream, "GET /api/v1/experiments/1 HTTP/1.1\r\n");
  EXPECT_NE(body.find("\"name\":\"all\""), std::string::npos) << body;
}

TEST_F(TlsTest, RejectsPlaintextHttp) {
  tcp::socket socket = Connect();
  const auto [status, body] = SendRequest(socket, "POST /api/v1/auth/login HTTP/1.1\r\n", "{}");
  EXPECT_EQ(status, 400);
  EXPECT_NE(body.find("this port speaks TLS: use https://"), std::string::npos) << body;
}

TEST_F(TlsTest, RejectsPlaintextGrpc) {
  const auto channel = grpc::CreateChannel("localhost:" + std::to_string(gateway_->port()),
                                           grpc::InsecureChannelCredentials());
  grpc::ClientContext context;
  api::GetExperimentResponse response;
  EXPECT_EQ(api::ExperimentService::NewStub(channel)
                ->GetExperiment(&context, api::GetExperimentRequest(), &response)
                .error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TlsTest, ReloadsCertificates) {
  const auto before = Handshake();
  EXPECT_EQ(GetCertificateName(*before), "master");
  Write("master", MakeServerCertificate("renewed"));
  EXPECT_EQ(GetCertificateName(*Handshake()), "renewed");
  // A certificate without its key, as during a renewal.
  ASSERT_TRUE(
      base::WriteFileAtomically(Path("master.pem"), MakeServerCertificate("half").certificate)
          .ok());
  EXPECT_EQ(GetCertificateName(*Handshake()), "renewed");
  ASSERT_TRUE(base::WriteFileAtomically(Path("master.key"), "nothing").ok());
  EXPECT_EQ(GetCertificateName(*Handshake()), "renewed");
  Write("master", MakeServerCertificate("at last"));
  EXPECT_EQ(GetCertificateName(*Handshake()), "at last");
  // Open connections stay usable.
  EXPECT_EQ(SendRequest(*before, "GET / HTTP/1.1\r\n").first, 200);
}

TEST_F(TlsTest, ReloadsClientAuthority) {
  const CertificateAndKey agent = Signed("agent", CertificateUse::kClient);
  EXPECT_EQ(CallServerAsAgent(agent), "agents");
  Write("ca", Authority());
  EXPECT_EQ(CallServerAsAgent(agent), "all");
}

TEST_F(TlsTest, EndsCall_WhenTlsClientDisconnects) {
  {
    const auto stream = Handshake();
    asio::write(
        *stream,
        asio::buffer(std::string("GET /api/v1/experiments/1/watch HTTP/1.1\r\nHost: x\r\n\r\n")));
    std::string received(1, ' ');
    asio::read(*stream, asio::buffer(received));
  }
  // Close before the destructor ends the remaining connections.
  EXPECT_EQ(all_.watch_ended_.get_future().wait_for(std::chrono::seconds(30)),
            std::future_status::ready);
}

TEST_F(TlsTest, ReportsInvalidFiles) {
  const auto refusal = [](const TlsFiles& files) {
    return std::string(TlsKeys::Load(files).status().message());
  };
  TlsFiles files = Files();
  files.certificate = Path("none.pem");
  EXPECT_NE(refusal(files).find("--tls-cert " + Path("none.pem")), std::string::npos);
  Write("text", {"text", "text"});
  files.certificate = Path("text.pem");
  EXPECT_NE(refusal(files).find("is not a certificate"), std::string::npos) << refusal(files);
  files = Files();
  files.key = Path("text.key");
  EXPECT_NE(refusal(files).find("is not a key"), std::string::npos) << refusal(files);
  files.key = Path("ca.key");
  EXPECT_NE(refusal(files).find("does not belong to the certificate"), std::string::npos)
      << refusal(files);
  files = Files();
  files.client_authority = Path("text.pem");
  EXPECT_NE(refusal(files).find("--tls-client-ca"), std::string::npos) << refusal(files);
  Write("old", Signed("old", CertificateUse::kServer, -absl::Minutes(1)));
  EXPECT_NE(refusal({Path("old.pem"), Path("old.key"), ""}).find("has expired"), std::string::npos);
}

class OneClientTest : public TlsTest {
 protected:
  OneClientTest()
      : TlsTest({.connection_limit = 1, .handshake_limit = std::chrono::milliseconds(300)}) {}

  // The server may not have noticed yet that the previous connection is closed.
  auto HandshakeWhenSlotIsFree() -> decltype(Handshake()) {
    while (true) {
      try {
        return Handshake();
      } catch (const boost::system::system_error&) {
      }
    }
  }
};

TEST_F(OneClientTest, FreesSlotOfClosedConnection) {
  for (const std::string bytes : {"", "GET / HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n\r\n"}) {
    asio::write(*HandshakeWhenSlotIsFree(), asio::buffer(bytes));
  }
}

TEST_F(OneClientTest, DropsSilentClient) {
  tcp::socket silent = Connect();
  // Three bytes of an incomplete record.
  asio::write(silent, asio::buffer("\x16\x03\x01", 3));
  std::string received(1, ' ');
  error_code error;
  asio::read(silent, asio::buffer(received), error);
  EXPECT_TRUE(error);
  // Another connection is accepted.
  EXPECT_EQ(SendRequest(*HandshakeWhenSlotIsFree(), "GET / HTTP/1.1\r\n").first, 200);
}

}  // namespace
}  // namespace det::gateway
