// A gateway on a loopback socket with fake services. Used by tests, on their thread.
#ifndef MASTER_GATEWAY_TESTING_GATEWAY_FIXTURE_H_
#define MASTER_GATEWAY_TESTING_GATEWAY_FIXTURE_H_

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "master/gateway/http_server.h"
#include "master/gateway/testing/fake_services.h"
#include "proto/api_descriptors.h"
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <grpcpp/grpcpp.h>

namespace det::gateway {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

class GatewayTest : public testing::Test {
 protected:
  explicit GatewayTest(HttpOptions options = {}, HttpHooks hooks = {}) {
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(64 << 20);
    builder.RegisterService(&fake_);
    builder.RegisterService(&usage_);
    server_ = builder.BuildAndStart();
    options.port = 0;
    options.about = "about this server\n";
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

  struct HttpResponse {
    int status = 0;
    std::string body;
    std::map<std::string, std::string> headers;
  };
  static HttpResponse Receive(tcp::socket& socket, bool head = false) {
    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.skip(head);
    http::read(socket, buffer, parser);
    HttpResponse response{static_cast<int>(parser.get().result_int()), parser.get().body(), {}};
    for (const auto& field : parser.get()) {
      std::string& values = response.headers[std::string(field.name_string())];
      values += (values.empty() ? "" : ", ") + std::string(field.value());
    }
    return response;
  }
  static void Send(tcp::socket& socket, const std::string& text) {
    asio::write(socket, asio::buffer(text));
  }
  HttpResponse SendRequest(const std::string& head, const std::string& body = "") {
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

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_TESTING_GATEWAY_FIXTURE_H_
