// The gateway over a loopback socket, with a service of the API's shape behind it.
#include <sys/socket.h>

#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "det/api/v1/experiment.grpc.pb.h"
#include "det/api/v1/usage.grpc.pb.h"
#include "gtest/gtest.h"
#include "master/gateway/gzip.h"
#include "master/gateway/http_server.h"
#include "proto/api_descriptors.h"
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
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

std::string Long() { return std::string(2000, 'n'); }

// Answers with what it was asked, so that a test sees what arrived. Experiment 100 waits until the
// caller has gone.
class FakeExperiments final : public api::ExperimentService::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetExperiment(grpc::CallbackServerContext* context,
                                          const api::GetExperimentRequest* request,
                                          api::GetExperimentResponse* response) override {
    if (request->experiment_id() == 100) return new Wait(this);
    auto* reactor = context->DefaultReactor();
    if (request->experiment_id() == 404) {
      reactor->Finish({grpc::StatusCode::NOT_FOUND, "experiment 404 does not exist"});
      return reactor;
    }
    response->mutable_experiment()->set_id(request->experiment_id());
    if (request->experiment_id() == 429) {
      context->AddTrailingMetadata("retry-after", "7");
      reactor->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "slower"});
      return reactor;
    }
    if (request->experiment_id() == 2000) response->mutable_experiment()->set_notes(Long());
    const auto heard = [context](const char* key) {
      const auto it = context->client_metadata().find(key);
      return it == context->client_metadata().end()
                 ? std::string()
                 : std::string(it->second.data(), it->second.size());
    };
    response->mutable_experiment()->set_name(heard("authorization"));
    response->mutable_experiment()->set_description(heard("x-request-id") + " " + heard("x-peer") +
                                                    " " + heard("idempotency-key"));
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* CreateExperiment(grpc::CallbackServerContext* context,
                                             const api::CreateExperimentRequest* request,
                                             api::CreateExperimentResponse* response) override {
    response->mutable_experiment()->set_original_config(request->config());
    response->mutable_experiment()->set_model_definition_size(
        request->model_definition_size() == 0
            ? 0
            : static_cast<int>(request->model_definition(0).content().size()));
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  // Sends as many messages as the id says, then ends; 100: goes on until the caller has gone; 7:
  // two, then an error.
  grpc::ServerWriteReactor<api::WatchExperimentResponse>* WatchExperiment(
      grpc::CallbackServerContext*, const api::WatchExperimentRequest* request) override {
    class Stream final : public grpc::ServerWriteReactor<api::WatchExperimentResponse> {
     public:
      Stream(FakeExperiments* fake, int id) : fake_(fake), id_(id) { Go(); }
      void OnWriteDone(bool) override { Go(); }
      void OnCancel() override {
        if (id_ == 100) Finish(grpc::Status::CANCELLED);
        fake_->canceled.set_value();
      }
      void OnDone() override { delete this; }

     private:
      void Go() {
        const int count = id_ == 100 ? 1 : id_ == 7 ? 2 : id_;
        if (sent_ == count) {
          if (id_ == 100) return;
          Finish(id_ == 7 ? grpc::Status(grpc::StatusCode::ABORTED, "enough") : grpc::Status::OK);
          return;
        }
        message_.mutable_experiment()->set_id(++sent_);
        StartWrite(&message_);
      }
      FakeExperiments* const fake_;
      const int id_;
      int sent_ = 0;
      api::WatchExperimentResponse message_;
    };
    if (request->experiment_id() == 404) {
      class Refusal final : public grpc::ServerWriteReactor<api::WatchExperimentResponse> {
       public:
        Refusal() { Finish({grpc::StatusCode::NOT_FOUND, "experiment 404 does not exist"}); }
        void OnDone() override { delete this; }
      };
      return new Refusal;
    }
    return new Stream(this, request->experiment_id());
  }

  std::promise<void> waiting;
  std::promise<void> canceled;

 private:
  class Wait final : public grpc::ServerUnaryReactor {
   public:
    explicit Wait(FakeExperiments* fake) : fake_(fake) { fake_->waiting.set_value(); }
    void OnCancel() override {
      Finish(grpc::Status::CANCELLED);
      fake_->canceled.set_value();
    }
    void OnDone() override { delete this; }

   private:
    FakeExperiments* const fake_;
  };
};

// Answers with what is no JSON.
class FakeUsage final : public api::UsageService::CallbackService {
 public:
  grpc::ServerUnaryReactor* ExportResourceAllocationRaw(
      grpc::CallbackServerContext* context, const api::ResourceAllocationRawRequest* request,
      google::api::HttpBody* response) override {
    response->set_content_type("text/csv");
    response->set_data("after\n" + request->timestamp_after() + "\n");
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

class GatewayTest : public testing::Test {
 protected:
  explicit GatewayTest(HttpOptions options = {}, HttpHooks hooks = {}) {
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(64 << 20);
    builder.RegisterService(&fake_);
    builder.RegisterService(&usage_);
    server_ = builder.BuildAndStart();
    options.port = 0;
    options.about = "what this is\n";
    options.body_limit = 8 << 20;
    options.api = {.descriptors = proto::ApiDescriptors(),
                   .services = {"det.api.v1.ExperimentService"},
                   .version = "1",
                   .open = nullptr};
    hooks.metrics = [](auto reply) { reply("up 1\n"); };
    const auto* pool = google::protobuf::DescriptorPool::generated_pool();
    auto started = HttpServer::Start(options, hooks, server_.get(),
                                     {pool->FindServiceByName("det.api.v1.ExperimentService"),
                                      pool->FindServiceByName("det.api.v1.UsageService")});
    EXPECT_TRUE(started.ok()) << started.status();
    gateway_ = *std::move(started);
  }
  ~GatewayTest() override {
    gateway_->StopAccepting();
    server_->Shutdown(std::chrono::system_clock::now());
    gateway_->Stop();
  }

  tcp::socket Connect() {
    tcp::socket socket(io_);
    socket.connect({asio::ip::address_v4::loopback(), static_cast<uint16_t>(gateway_->port())});
    return socket;
  }

  struct Answer {
    int status = 0;
    std::string body;
    std::map<std::string, std::string> headers;
  };
  static Answer Receive(tcp::socket& socket, bool head = false) {
    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.skip(head);
    http::read(socket, buffer, parser);
    Answer answer{static_cast<int>(parser.get().result_int()), parser.get().body(), {}};
    for (const auto& field : parser.get()) {
      std::string& values = answer.headers[std::string(field.name_string())];
      values += (values.empty() ? "" : ", ") + std::string(field.value());
    }
    return answer;
  }
  static void Send(tcp::socket& socket, const std::string& text) {
    asio::write(socket, asio::buffer(text));
  }
  Answer Ask(const std::string& head, const std::string& body = "") {
    tcp::socket socket = Connect();
    Send(socket,
         head + "Host: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return Receive(socket, head.starts_with("HEAD"));
  }

  asio::io_context io_;
  FakeExperiments fake_;
  FakeUsage usage_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<HttpServer> gateway_;
};

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

TEST_F(GatewayTest, StreamsAsLines) {
  const Answer answer = Ask("GET /api/v1/experiments/3/watch HTTP/1.1\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("Content-Type"), "application/x-ndjson");
  EXPECT_EQ(std::count(answer.body.begin(), answer.body.end(), '\n'), 3);
  EXPECT_EQ(answer.body.find("{\"result\":{\"experiment\":{\"id\":1"), 0u) << answer.body;
}

TEST_F(GatewayTest, StreamsAsServerSentEvents) {
  const Answer answer =
      Ask("GET /api/v1/experiments/2/watch HTTP/1.1\r\nAccept: text/event-stream\r\n");
  EXPECT_EQ(answer.headers.at("Content-Type"), "text/event-stream");
  EXPECT_EQ(answer.body.find("data: {\"result\":"), 0u);
  EXPECT_NE(answer.body.find("\n\ndata: "), std::string::npos);
}

TEST_F(GatewayTest, StreamsToAnHttp10ClientUntilTheEndOfTheConnection) {
  const Answer answer = Ask("GET /api/v1/experiments/2/watch HTTP/1.0\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(std::count(answer.body.begin(), answer.body.end(), '\n'), 2);
}

TEST_F(GatewayTest, SaysHowAStreamEnded) {
  const Answer refused = Ask("GET /api/v1/experiments/404/watch HTTP/1.1\r\n");
  EXPECT_EQ(refused.status, 404);
  const Answer broken = Ask("GET /api/v1/experiments/7/watch HTTP/1.1\r\n");
  EXPECT_EQ(broken.status, 200);
  EXPECT_NE(broken.body.find("\"reason\":\"Aborted\""), std::string::npos) << broken.body;
}

TEST_F(GatewayTest, SeveralStreamsOverOneConnection) {
  const Answer answer =
      Ask("GET /api/v1/streams?of=%2Fapi%2Fv1%2Fexperiments%2F3%2Fwatch%3Fpoints%3Dtrue"
          "&of=/api/v1/experiments/7/watch&of=/api/v1/experiments/404/watch"
          "&of=/api/v1/experiments/3&of=/api/v1/nothing HTTP/1.1\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("Content-Type"), "text/event-stream");
  const auto count = [&](const std::string& text) {
    size_t found = 0;
    for (size_t at = 0; (at = answer.body.find(text, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count("data: {\"stream\":0,\"result\":{\"experiment\":{\"id\":"), 3u) << answer.body;
  EXPECT_EQ(count("data: {\"stream\":0,\"end\":true}\n\n"), 1u) << answer.body;
  EXPECT_EQ(count("data: {\"stream\":1,\"result\":"), 2u) << answer.body;
  EXPECT_EQ(count("data: {\"stream\":1,\"status\":409,\"error\":{\"code\":10,"), 1u) << answer.body;
  EXPECT_EQ(count("data: {\"stream\":2,\"status\":404,\"error\":{"), 1u) << answer.body;
  EXPECT_EQ(count("data: {\"stream\":3,\"status\":400,\"error\":{"), 1u) << answer.body;
  EXPECT_EQ(count("data: {\"stream\":4,\"status\":404,\"error\":{"), 1u) << answer.body;
  EXPECT_EQ(count("data: "), 3u + 1 + 2 + 1 + 3);
}

TEST_F(GatewayTest, SaysWhichStreamsItWants) {
  EXPECT_EQ(Ask("GET /api/v1/streams HTTP/1.1\r\n").status, 400);
  EXPECT_EQ(Ask("GET /api/v1/streams?off=1 HTTP/1.1\r\n").status, 400);
  std::string many = "GET /api/v1/streams?";
  for (int i = 0; i < 65; ++i) many += "of=/api/v1/experiments/1/watch&";
  EXPECT_EQ(Ask(many + " HTTP/1.1\r\n").status, 400);
  EXPECT_EQ(Ask("POST /api/v1/streams?of=/api/v1/experiments/1/watch HTTP/1.1\r\n").status, 404);
}

TEST_F(GatewayTest, EndsAllCallsOfAConnectionWhenTheClientGoesAway) {
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

TEST_F(GatewayTest, EndsTheCallWhenTheClientGoesAway) {
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

TEST_F(LongPollTest, EndsTheCallWhenTheClientGoesAway) {
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

TEST_F(GatewayTest, StopsWhileAStreamIsOpen) {
  tcp::socket socket = Connect();
  Send(socket, "GET /api/v1/experiments/100/watch HTTP/1.1\r\nHost: x\r\n\r\n");
  asio::streambuf buffer;
  asio::read_until(socket, buffer, "{\"result\"");
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

TEST_F(GatewayTest, TakesLargeBodiesAndRefusesTooLargeOnes) {
  const std::string content(4 << 20, 'A');  // base64 of 3 MiB of zeros
  const Answer large =
      Ask("POST /api/v1/experiments HTTP/1.1\r\nAuthorization: Bearer abc\r\n",
          "{\"modelDefinition\":[{\"path\":\"x\",\"content\":\"" + content + "\"}]}");
  EXPECT_EQ(large.status, 200);
  EXPECT_NE(large.body.find("\"modelDefinitionSize\":3145728"), std::string::npos);
  tcp::socket socket = Connect();
  Send(socket, "POST /api/v1/experiments HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n");
  EXPECT_EQ(Receive(socket).status, 413);
}

TEST_F(GatewayTest, TakesLittleFromWhoeverDoesNotSayWhoHeIs) {
  tcp::socket socket = Connect();
  Send(socket, "POST /api/v1/experiments HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n");
  EXPECT_EQ(Receive(socket).status, 413);
}

TEST_F(GatewayTest, GoesOnForClientsThatAskFirst) {
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

TEST_F(GatewayTest, OddClientsHarmNobody) {
  tcp::socket silent = Connect();  // says nothing
  tcp::socket slow = Connect();    // one byte of what might be either
  Send(slow, "P");
  tcp::socket half = Connect();  // half a request
  Send(half, "GET /api/v1/exper");
  tcp::socket noise = Connect();
  Send(noise, "\x16\x03\x01\x02 this is no HTTP\r\n\r\n");
  EXPECT_EQ(Receive(noise).status, 400);
  const Answer control =
      Ask("GET /api/v1/experiments/1 HTTP/1.1\r\nAuthorization: Bearer \xff\xfe\r\n");
  EXPECT_EQ(control.status, 401);
  {
    tcp::socket gone = Connect();
    Send(gone, "POST /api/v1/experiments HTTP/1.1\r\nContent-Length: 100\r\n\r\nabc");
  }
  EXPECT_EQ(Ask("GET /api/v1/experiments/1 HTTP/1.1\r\n").status, 200);
  Send(slow, "OST /api/v1/experiments HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(Receive(slow).status, 200);
}

TEST_F(GatewayTest, AParameterThatIsNoTextIsNamed) {
  const Answer query = Ask("GET /api/v1/experiments?name=a%ff HTTP/1.1\r\n");
  EXPECT_EQ(query.status, 400);
  EXPECT_NE(query.body.find("name: the value is not UTF-8"), std::string::npos) << query.body;
  const Answer path = Ask("GET /api/v1/experiments/%ff HTTP/1.1\r\n");
  EXPECT_EQ(path.status, 400);
  EXPECT_NE(path.body.find("experiment_id"), std::string::npos) << path.body;
  const Answer body = Ask("POST /api/v1/experiments HTTP/1.1\r\n", "{\"config\": \"a\xff\"}");
  EXPECT_EQ(body.status, 400);
  EXPECT_NE(body.body, "");
}

TEST_F(GatewayTest, SaysWhatIsWrongWithTwoLengths) {
  for (const char* lengths : {"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
                              "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
                              "Content-Length: 2\r\nContent-Length: 3\r\n"}) {
    tcp::socket socket = Connect();
    Send(socket, std::string("POST /api/v1/experiments HTTP/1.1\r\nHost: x\r\n") + lengths +
                     "\r\n2\r\n{}\r\n0\r\n\r\n");
    const Answer answer = Receive(socket);
    EXPECT_EQ(answer.status, 400);
    EXPECT_NE(answer.body.find("Content-Length"), std::string::npos) << answer.body;
    EXPECT_EQ(answer.headers.at("Connection"), "close");
  }
}

TEST_F(GatewayTest, AnAnswerReachesAClientThatIsStillSending) {
  tcp::socket socket = Connect();
  Send(socket,
       "POST /api/v1/nothing HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer abc\r\n"
       "Content-Length: 6000000\r\n\r\n");
  Send(socket, std::string(6'000'000, 'x'));
  EXPECT_EQ(Receive(socket).status, 404);
}

// Admits whoever is "good", to anything; and anybody to CreateExperiment.
HttpHooks DoorHooks() {
  HttpHooks hooks;
  hooks.admit = [](const std::string& method, const std::string& authorization, auto reply) {
    if (authorization == "Bearer good") return reply(Admission{.identified = true});
    if (method == "det.api.v1.ExperimentService.CreateExperiment") return reply(Admission{});
    reply(absl::UnauthenticatedError("log in"));
  };
  return hooks;
}

class DoorTest : public GatewayTest {
 protected:
  DoorTest() : GatewayTest({}, DoorHooks()) {}
};

TEST_F(DoorTest, ARefusalNeedsNoBody) {
  tcp::socket socket = Connect();
  // No byte of the body follows, and none is asked for.
  Send(socket,
       "POST /api/v1/experiments/3/kill HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bad\r\n"
       "Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n");
  const Answer answer = Receive(socket);
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer.headers.at("Connection"), "close");
  EXPECT_EQ(Ask("GET /api/v1/experiments/many HTTP/1.1\r\n").status, 401);
}

TEST_F(DoorTest, ARefusalWithoutABodyKeepsTheConnection) {
  tcp::socket socket = Connect();
  Send(socket, "GET /api/v1/experiments/1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(Receive(socket).status, 401);
  Send(socket,
       "GET /api/v1/experiments/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n");
  EXPECT_EQ(Receive(socket).status, 200);
}

TEST_F(DoorTest, WhereNobodyIsAskedForATokenABadOneBuysNoMemory) {
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
  EXPECT_EQ(Ask("POST /api/v1/experiments HTTP/1.1\r\n", "{}").status, 200);
}

class CrowdedTest : public GatewayTest {
 protected:
  CrowdedTest() : GatewayTest({.connection_limit = 2}) {}

  // Opens an HTTP/2 connection, once there is room, and waits for gRPC's first frame.
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
  // Whether a new connection is served; one too many is closed at once.
  bool IsServed() {
    tcp::socket socket = Connect();
    boost::system::error_code error;
    const std::string ask = "GET / HTTP/1.0\r\n\r\n";
    asio::write(socket, asio::buffer(ask), error);
    char byte;
    return asio::read(socket, asio::buffer(&byte, 1), error) == 1;
  }
};

TEST_F(CrowdedTest, ConnectionsOfBothKindsCountUntilTheyEnd) {
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
  // One that breaks off, too.
  other.set_option(asio::socket_base::linger(true, 0));
  other.close();
  tcp::socket last = ConnectHttp2();
  while (!IsServed()) std::this_thread::yield();
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
