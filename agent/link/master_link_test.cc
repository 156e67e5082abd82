// Tests of the parts of the link that need no master; agent_test tests it with one.
#include "agent/link/master_link.h"

#include <chrono>
#include <cmath>
#include <future>
#include <limits>
#include <utility>

#include "absl/time/clock.h"
#include "agent/link/master_address.h"
#include "agent/link/messages.h"
#include "base/certificate_authority.h"
#include "base/event_loop.h"
#include "base/file.h"
#include "det/agent/v1/agent.grpc.pb.h"
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

namespace det::agent {
namespace {

TEST(MasterAddressTest, ParsesAddress) {
  struct Case {
    const char* text;
    const char* url;
    const char* host;
  };
  for (const Case& valid :
       {Case{"http://m:8080", "http://m:8080", "m"}, Case{"m:8080", "http://m:8080", "m"},
        Case{"https://m.example.org:443/", "https://m.example.org:443", "m.example.org"},
        Case{"http://[::1]:80", "http://[::1]:80", "::1"}}) {
    const auto address = ParseMasterAddress(valid.text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->Url(), valid.url);
    EXPECT_EQ(address->host, valid.host);
  }
  for (const char* bad : {"", "m", "http://m", "http://:80", "http://m:0", "http://m:70000",
                          "http://m:80/path", "ftp://m:80", "::1:80", "http://[::1:80"}) {
    const auto address = ParseMasterAddress(bad);
    EXPECT_TRUE(absl::IsInvalidArgument(address.status())) << bad;
    EXPECT_NE(address.status().message().find("use http://host:port"), std::string::npos);
  }
}

TEST(MasterAddressTest, RequiresSameSchemeForAllMasters) {
  const auto check = [](const char* masters, const TlsOptions& tls) {
    return CheckTls(*ParseMasterAddresses(masters), tls).ok();
  };
  EXPECT_TRUE(check("http://a:1,b:2", {}));
  EXPECT_TRUE(check("https://a:1,https://b:2", {}));
  EXPECT_TRUE(check("https://a:1", {.authority = "PEM"}));
  EXPECT_FALSE(check("https://a:1,b:2", {}));
  EXPECT_FALSE(check("http://a:1", {.authority = "PEM"}));
  EXPECT_FALSE(check("http://a:1", {.certificate = "PEM"}));
}

TEST(TlsOptionsTest, GivesHintForFailure) {
  EXPECT_EQ(GetTlsHint("Trying to connect an http1.x server", false),
            "; if the master uses TLS, use https://");
  EXPECT_EQ(GetTlsHint("connection rejected", false), "");
  EXPECT_NE(GetTlsHint("SSL routines::certificate verify failed", true).find("--tls-ca"),
            std::string::npos);
  EXPECT_NE(GetTlsHint("Peer name m is not in peer certificate", true).find("--tls-master-name"),
            std::string::npos);
  EXPECT_NE(GetTlsHint("SSL routines::wrong version number", true).find("http://"),
            std::string::npos);
  EXPECT_EQ(GetTlsHint("connection rejected", true), "");
}

TEST(TlsOptionsTest, RejectsFilesThatDoNotMatch) {
  const base::TempDir dir = *base::TempDir::Create();
  const auto write = [&](const std::string& name, const std::string& text) {
    EXPECT_TRUE(base::WriteFileAtomically(dir.path() + "/" + name, text).ok());
    return dir.path() + "/" + name;
  };
  const absl::Time now = absl::Now();
  const auto sign = [&](const base::CertificateAndKey& by, absl::Time until) {
    return *base::SignCertificate(by, {.name = "a1",
                                       .use = base::CertificateUse::kClient,
                                       .from = now - absl::Hours(2),
                                       .until = until});
  };
  const auto authority =
      *base::MakeCertificateAuthority("test", now - absl::Hours(2), now + absl::Hours(2));
  const auto own = sign(authority, now + absl::Hours(1));
  const auto old = sign(authority, now - absl::Hours(1));
  const std::string ca = write("ca", authority.certificate);
  const std::string cert = write("cert", own.certificate);
  const std::string key = write("key", own.key);
  const auto read = ReadTlsOptions(ca, cert, key);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->authority, authority.certificate);
  EXPECT_EQ(read->certificate, own.certificate);
  EXPECT_EQ(read->key, own.key);
  EXPECT_TRUE(ReadTlsOptions("", "", "").ok());
  const std::string text = write("text", "text");
  const std::string old_cert = write("old", old.certificate);
  const struct {
    std::string ca;
    std::string cert;
    std::string key;
    std::string message;
  } bad[] = {{text, "", "", "--tls-ca"},
             {dir.path() + "/none", "", "", "--tls-ca"},
             {"", cert, "", "must be set together"},
             {"", "", key, "must be set together"},
             {"", text, key, "--tls-cert"},
             {"", cert, text, "--tls-key"},
             {"", old_cert, write("oldkey", old.key), "has expired"},
             {"", cert, write("cakey", authority.key), "does not match"}};
  for (const auto& each : bad) {
    const absl::Status rejected = ReadTlsOptions(each.ca, each.cert, each.key).status();
    EXPECT_NE(rejected.message().find(each.message), std::string::npos) << rejected;
  }
}

// A server that accepts agents with a certificate of its CA, and registers them.
class TlsHub final : public v1::AgentHub::CallbackService {
 public:
  TlsHub(const base::CertificateAndKey& authority, const base::CertificateAndKey& own) {
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = authority.certificate;
    options.pem_key_cert_pairs.push_back({own.key, own.certificate});
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~TlsHub() override { server_->Shutdown(std::chrono::system_clock::now()); }

  grpc::ServerBidiReactor<v1::AgentMessage, v1::MasterMessage>* Connect(
      grpc::CallbackServerContext*) override {
    struct Greeting final : grpc::ServerBidiReactor<v1::AgentMessage, v1::MasterMessage> {
      Greeting() {
        message.mutable_registered()->set_cluster_id("c");
        StartWrite(&message);
      }
      void OnCancel() override { Finish(grpc::Status::CANCELLED); }
      void OnDone() override { delete this; }
      v1::MasterMessage message;
    };
    return new Greeting();
  }
  int port() const { return port_; }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class Listener final : public LinkListener {
 public:
  Registration OnConnecting() override { return {.agent_id = "a1"}; }
  void OnRegistered(const Registered&) override { registered.set_value(); }
  void OnOrder(const Event&) override {}
  void OnShutdown(const std::string&) override {}
  void OnDisconnected(const absl::Status&) override {
    if (!std::exchange(rejected_, true)) rejected.set_value();
  }
  std::promise<void> rejected;
  std::promise<void> registered;

 private:
  bool rejected_ = false;
};

// A renewed certificate takes effect without a restart of the agent.
TEST(TlsLinkTest, UsesRenewedCertificate) {
  const base::TempDir dir = *base::TempDir::Create();
  const absl::Time now = absl::Now();
  const auto make = [&] {
    return *base::MakeCertificateAuthority("t", now - absl::Hours(1), now + absl::Hours(1));
  };
  const auto sign = [&](const base::CertificateAndKey& by, base::CertificateUse use) {
    return *base::SignCertificate(by, {.name = "a1",
                                       .hosts = {"127.0.0.1"},
                                       .use = use,
                                       .from = now - absl::Hours(1),
                                       .until = now + absl::Hours(1)});
  };
  const std::string path = dir.path();
  const auto keep = [&](const base::CertificateAndKey& own) {
    EXPECT_TRUE(base::WriteFileAtomically(path + "/key", own.key).ok());
    EXPECT_TRUE(base::WriteFileAtomically(path + "/cert", own.certificate).ok());
  };
  const base::CertificateAndKey authority = make();
  EXPECT_TRUE(base::WriteFileAtomically(path + "/ca", authority.certificate).ok());
  TlsHub hub(authority, sign(authority, base::CertificateUse::kServer));
  // A certificate of a CA that the master does not trust.
  keep(sign(make(), base::CertificateUse::kClient));

  const auto loop = base::MakeAsioEventLoop("link");
  Listener listener;
  LinkOptions options;
  options.masters = {{.host = "127.0.0.1", .port = hub.port(), .tls = true}};
  options.tls = *ReadTlsOptions(path + "/ca", path + "/cert", path + "/key");
  options.agent_id.append("a1");
  const auto link = MakeMasterLink(options, loop.get(), &listener);
  loop->Post([&] { link->Connect(); });
  listener.rejected.get_future().wait();
  keep(sign(authority, base::CertificateUse::kClient));
  listener.registered.get_future().wait();
  loop->Stop();
  link->Close();
}

TEST(MasterAddressTest, FindsLocalAddress) {
  const MasterAddress here = {.host = "127.0.0.1", .port = 8080};
  const MasterAddress nowhere = {.host = "no-such-host.invalid", .port = 8080};
  EXPECT_EQ(*FindLocalAddress({here}), "127.0.0.1");
  EXPECT_EQ(*FindLocalAddress({nowhere, here}), "127.0.0.1");
  EXPECT_TRUE(absl::IsUnavailable(FindLocalAddress({nowhere}).status()));
}

TEST(MasterAddressTest, ParsesList) {
  const auto both = ParseMasterAddresses("http://a:1, b:2");
  ASSERT_TRUE(both.ok()) << both.status();
  ASSERT_EQ(both->size(), 2u);
  EXPECT_EQ((*both)[0].Url(), "http://a:1");
  EXPECT_EQ((*both)[1].Url(), "http://b:2");
  for (const char* bad : {"", "http://a:1,", ",http://a:1", "http://a:1,b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseMasterAddresses(bad).status())) << bad;
  }
}

TEST(MessagesTest, ConvertsRegistration) {
  const v1::Register proto =
      ToProto({.agent_id = "a1",
               .running = {{.allocation = AllocationId("1.1.0"), .slots = {1}}},
               .incarnation = "i"});
  EXPECT_EQ(proto.agent_id(), "a1");
  EXPECT_EQ(proto.running(0).allocation_id(), "1.1.0");
  EXPECT_EQ(proto.running(0).slots(0), 1);
  EXPECT_EQ(proto.incarnation(), "i");
}

TEST(MessagesTest, ConvertsTaskSpec) {
  v1::TaskSpec proto;
  proto.set_allocation_id("1.1.0");
  proto.set_task_id("1.1");
  proto.add_slots(3);
  proto.add_argv("true");
  (*proto.mutable_env())["A"] = "b";
  v1::RunFile* file = proto.add_files();
  file->set_path("info/x");
  file->set_content("y");
  proto.set_context_hash("hash");
  proto.set_session_token("token");
  proto.set_user_token("owner");
  const TaskSpec expected{.allocation = AllocationId("1.1.0"),
                          .task_id = "1.1",
                          .slots = {3},
                          .argv = {"true"},
                          .env = {{"A", "b"}},
                          .files = {{"info/x", "y", 0600}},
                          .context_hash = "hash",
                          .session_token = "token",
                          .user_token = "owner"};
  EXPECT_EQ(FromProto(proto), expected);
  for (const auto& [fraction, of_each_slot] :
       {std::pair(0.5, 0.5), {0.0, 1.0}, {-1.0, 1.0}, {7.0, 1.0}, {std::nan(""), 1.0}}) {
    proto.set_fraction(fraction);
    EXPECT_EQ(FromProto(proto).fraction, of_each_slot) << fraction;
  }
}

TEST(MessagesTest, LimitsInvalidGracePeriodToZero) {
  v1::StopTask proto;
  for (const double seconds : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity()}) {
    proto.set_grace_seconds(seconds);
    EXPECT_EQ(FromProto(proto).grace, absl::ZeroDuration());
  }
  proto.set_grace_seconds(1.5);
  EXPECT_EQ(FromProto(proto).grace, absl::Milliseconds(1500));
}

TEST(MessagesTest, ConvertsReport) {
  Report report{.sequence = 4,
                .allocation = AllocationId("1.1.0"),
                .time = absl::FromUnixMillis(1'700'000'000'123),
                .event = TaskExit{.exit_code = 137, .signal = 9, .message = "m"}};
  const v1::TaskReport proto = ToProto(report);
  EXPECT_EQ(proto.sequence(), 4);
  EXPECT_EQ(proto.time().seconds(), 1'700'000'000);
  EXPECT_EQ(proto.time().nanos(), 123'000'000);
  EXPECT_EQ(proto.exited().exit_code(), 137);
  EXPECT_EQ(proto.exited().signal(), 9);
  report.event = TaskStart{42};
  EXPECT_EQ(ToProto(report).started().pid(), 42);
}

TEST(MessagesTest, ConvertsLogLine) {
  OutputLine line;
  line.time = absl::FromUnixMillis(1'700'000'000'001);
  line.rank = 0;
  line.level = LogLevel::kError;
  line.text = "t";
  line.sequence = 5;
  OutputLine bare;
  const v1::PostLogsRequest proto = ToProto("a1", AllocationId("1.1.0"), {line, bare});
  EXPECT_EQ(proto.agent_id(), "a1");
  EXPECT_TRUE(proto.lines(0).has_rank());
  EXPECT_FALSE(proto.lines(1).has_rank());
  EXPECT_EQ(proto.lines(0).level(), 5);
  EXPECT_EQ(proto.lines(0).sequence(), 5);
  EXPECT_EQ(proto.lines(0).timestamp().nanos(), 1'000'000);
}

}  // namespace
}  // namespace det::agent
