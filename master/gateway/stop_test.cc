// Stopping the gateway while clients connect and disconnect.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "det/api/v1/experiment.grpc.pb.h"
#include "gtest/gtest.h"
#include "master/gateway/http_server.h"
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <grpcpp/grpcpp.h>

namespace det::gateway {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class Served {
 public:
  Served() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    HttpOptions options;
    options.port = 0;
    const auto* pool = google::protobuf::DescriptorPool::generated_pool();
    auto started = HttpServer::Start(options, {}, server_.get(),
                                     {pool->FindServiceByName("det.api.v1.ExperimentService")});
    EXPECT_TRUE(started.ok()) << started.status();
    gateway_ = *std::move(started);
  }
  ~Served() { gateway_->Stop(); }

  int port() const { return gateway_->port(); }
  // Stops as the master does, except for the gateway itself.
  void Shutdown() {
    gateway_->StopAccepting();
    server_->Shutdown(std::chrono::system_clock::now());
  }

 private:
  det::api::v1::ExperimentService::CallbackService service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<HttpServer> gateway_;
};

void Connect(tcp::socket& socket, int port, boost::system::error_code& error) {
  socket.connect({asio::ip::address_v4::loopback(), static_cast<uint16_t>(port)}, error);
}

TEST(GatewayStopTest, ClosesGrpcConnectionsAfterStop) {
  Served served;
  asio::io_context io;
  tcp::socket socket(io);
  boost::system::error_code error;
  Connect(socket, served.port(), error);
  ASSERT_FALSE(error) << error.message();
  served.Shutdown();
  asio::write(socket, asio::buffer(kPreface, sizeof(kPreface) - 1), error);
  std::string received;
  asio::read(socket, asio::dynamic_buffer(received), error);
  EXPECT_TRUE(error == asio::error::eof || error == asio::error::connection_reset)
      << error.message();
  EXPECT_EQ(received, "");
}

// Sanitizers also find uses after free and leaks here.
TEST(GatewayStopTest, StopsRepeatedlyWhileAgentsConnect) {
  for (int i = 0; i < 20; ++i) {
    Served served;
    std::atomic<bool> over = false;
    std::vector<std::thread> agents;
    for (int agent = 0; agent < 4; ++agent) {
      agents.emplace_back([&served, &over] {
        asio::io_context io;
        while (!over) {
          tcp::socket socket(io);
          boost::system::error_code error;
          Connect(socket, served.port(), error);
          if (!error) asio::write(socket, asio::buffer(kPreface, sizeof(kPreface) - 1), error);
        }
      });
    }
    served.Shutdown();
    over = true;
    for (std::thread& agent : agents) agent.join();
  }
}

}  // namespace
}  // namespace det::gateway
