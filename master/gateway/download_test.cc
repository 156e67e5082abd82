// Methods that stream files, over a loopback socket.
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "det/api/v1/raw.grpc.pb.h"
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
using google::api::HttpBody;

// Checkpoint "none" does not exist, and "broken" ends with an error. Others have two parts; the
// second one is the Accept header of the caller.
class FakeRaw final : public api::RawService::CallbackService {
 public:
  grpc::ServerWriteReactor<HttpBody>* DownloadCheckpoint(
      grpc::CallbackServerContext* context,
      const api::DownloadCheckpointRequest* request) override {
    class Parts final : public grpc::ServerWriteReactor<HttpBody> {
     public:
      Parts(std::string id, std::string accept) : id_(std::move(id)), accept_(std::move(accept)) {
        id_ == "none" ? Finish({grpc::StatusCode::NOT_FOUND, "there is no checkpoint none"}) : Go();
      }
      void OnWriteDone(bool) override { Go(); }
      void OnDone() override { delete this; }

     private:
      void Go() {
        if (sent_ == 1 && id_ == "broken") return Finish({grpc::StatusCode::DATA_LOSS, "torn"});
        if (sent_ == 2) return Finish(grpc::Status::OK);
        part_.set_content_type("application/gzip");
        part_.set_data(++sent_ == 1 ? id_ + "," : accept_);
        StartWrite(&part_);
      }
      const std::string id_, accept_;
      HttpBody part_;
      int sent_ = 0;
    };
    const auto& metadata = context->client_metadata();
    const auto accept = metadata.find("x-accept");
    return new Parts(
        request->checkpoint_uuid(),
        accept == metadata.end() ? "" : std::string(accept->second.data(), accept->second.size()));
  }
};

class DownloadTest : public testing::Test {
 protected:
  DownloadTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&fake_);
    server_ = builder.BuildAndStart();
    HttpOptions options;
    options.port = 0;
    auto started =
        HttpServer::Start(options, {}, server_.get(),
                          {google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
                              "det.api.v1.RawService")});
    EXPECT_TRUE(started.ok()) << started.status();
    gateway_ = *std::move(started);
  }
  ~DownloadTest() override {
    gateway_->StopAccepting();
    server_->Shutdown(std::chrono::system_clock::now());
    gateway_->Stop();
  }

  struct HttpResponse {
    http::response<http::string_body> response;
    boost::system::error_code error;
  };
  HttpResponse Get(const std::string& path, const std::string& headers = "",
                   const std::string& version = "1.1", const std::string& verb = "GET") {
    asio::ip::tcp::socket socket(io_);
    socket.connect({asio::ip::address_v4::loopback(), static_cast<uint16_t>(gateway_->port())});
    const std::string request =
        verb + " " + path + " HTTP/" + version + "\r\nHost: x\r\n" + headers + "\r\n";
    asio::write(socket, asio::buffer(request));
    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.skip(verb == "HEAD");
    boost::system::error_code error;
    http::read(socket, buffer, parser, error);
    return {parser.get(), error};
  }

  asio::io_context io_;
  FakeRaw fake_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<HttpServer> gateway_;
};

TEST_F(DownloadTest, SendsFileUnchanged) {
  const HttpResponse answer = Get("/checkpoints/abc", "Accept: application/zip\r\n");
  EXPECT_EQ(answer.response.result_int(), 200u);
  EXPECT_EQ(answer.response[http::field::content_type], "application/gzip");
  EXPECT_EQ(answer.response.body(), "abc,application/zip");
  EXPECT_EQ(Get("/checkpoints/abc").response.body(), "abc,") << "an empty part";
  EXPECT_EQ(Get("/checkpoints/abc", "", "1.0").response.body(), "abc,");
}

TEST_F(DownloadTest, ServesHead) {
  const HttpResponse answer = Get("/checkpoints/abc", "", "1.1", "HEAD");
  EXPECT_EQ(answer.response.result_int(), 200u);
  EXPECT_EQ(answer.response[http::field::content_type], "application/gzip");
}

TEST_F(DownloadTest, ReturnsErrorBeforeFirstByte) {
  const HttpResponse answer = Get("/checkpoints/none");
  EXPECT_EQ(answer.response.result_int(), 404u);
  EXPECT_EQ(answer.response.body(),
            R"({"error":{"code":5,"error":"there is no checkpoint none","reason":"NotFound"},)"
            R"("message":"there is no checkpoint none"})");
}

TEST_F(DownloadTest, MarksTruncatedFile) {
  const HttpResponse answer = Get("/checkpoints/broken");
  EXPECT_EQ(answer.response.result_int(), 200u);
  EXPECT_EQ(answer.error, http::error::partial_message);
}

}  // namespace
}  // namespace det::gateway
