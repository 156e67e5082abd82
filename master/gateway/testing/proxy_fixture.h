// A gateway that proxies one service. Used by tests of the proxy, on their thread.
#ifndef MASTER_GATEWAY_TESTING_PROXY_FIXTURE_H_
#define MASTER_GATEWAY_TESTING_PROXY_FIXTURE_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "master/gateway/http_server.h"
#include "master/gateway/testing/gateway_fixture.h"
#include "master/gateway/testing/target.h"
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>

namespace det::gateway {

// What the hook of a test gateway serves; tests change it.
struct ProxyState {
  std::mutex mutex;
  OpenedService service;
  absl::Status refusal;
  // What the last request presented:
  std::string name;
  ServiceCredentials credentials;
};

inline HttpHooks MakeProxyHooks(const std::shared_ptr<ProxyState>& state) {
  HttpHooks hooks;
  hooks.open_service = [state](const std::string& name, ServiceCredentials credentials,
                               auto reply) {
    std::lock_guard lock(state->mutex);
    state->name = name;
    state->credentials = std::move(credentials);
    if (!state->refusal.ok()) return reply(state->refusal);
    reply(state->service);
  };
  return hooks;
}

class ProxyTest : public GatewayTest {
 protected:
  explicit ProxyTest(HttpOptions options = {},
                     std::shared_ptr<ProxyState> state = std::make_shared<ProxyState>())
      : GatewayTest(std::move(options), MakeProxyHooks(state)), state_(std::move(state)) {}

  // Serves /proxy/ with this program.
  void Run(Target::Serve serve) {
    target_ = std::make_unique<Target>(std::move(serve));
    state_->service.connection_key = "key";
    state_->service.dial = [this](auto reply) { reply(target_->Connect()); };
  }

  // A request without a body.
  HttpResponse Get(const std::string& target, const std::string& headers = "") {
    tcp::socket socket = Connect();
    Send(socket, absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: m\r\n", headers, "\r\n"));
    return Receive(socket);
  }
  // Reads until the end of the connection.
  static std::string ReadAll(tcp::socket& socket) {
    std::string text;
    boost::system::error_code error;
    asio::read(socket, asio::dynamic_buffer(text), error);
    return text;
  }
  static std::string ReadUntil(tcp::socket& socket, const std::string& end) {
    std::string text;
    boost::system::error_code error;
    asio::read_until(socket, asio::dynamic_buffer(text), end, error);
    return text;
  }

  const std::shared_ptr<ProxyState> state_;
  std::unique_ptr<Target> target_;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_TESTING_PROXY_FIXTURE_H_
