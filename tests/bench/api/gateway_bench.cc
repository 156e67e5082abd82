// Measures the same call with REST and with gRPC, alternating, each over one persistent connection.
// Prints both medians in ms.
//
// Usage: gateway_bench PORT TOKEN TRIAL
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "det/api/v1/trial.grpc.pb.h"
#include <grpcpp/grpcpp.h>

namespace det::bench {
namespace {

constexpr int kCalls = 1000;
constexpr int kWarm = 100;

double Milliseconds(const std::chrono::steady_clock::time_point& began) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began)
      .count();
}

int Connect(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) std::exit(1);
  return fd;
}

// Reads one response with Content-Length.
void AskByRest(int fd, const std::string& request) {
  if (::send(fd, request.data(), request.size(), 0) < 0) std::exit(1);
  std::string text;
  size_t whole = std::string::npos;
  while (text.size() < whole) {
    char piece[65536];
    const ssize_t count = ::recv(fd, piece, sizeof(piece), 0);
    if (count <= 0) std::exit(1);
    text.append(piece, static_cast<size_t>(count));
    const size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos) continue;
    const size_t length = text.find("ontent-");
    const size_t number = text.find("ength: ", length);
    whole = end + 4 + std::strtoul(text.c_str() + number + 7, nullptr, 10);
  }
  if (text.compare(0, 12, "HTTP/1.1 200") != 0) std::exit(1);
}

void Run(int port, const std::string& token, const std::string& trial) {
  const int fd = Connect(port);
  const std::string request = "GET /api/v1/trials/" + trial +
                              " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token +
                              "\r\n\r\n";
  const auto channel =
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  const auto stub = api::v1::TrialService::NewStub(channel);
  api::v1::GetTrialRequest wanted;
  wanted.set_trial_id(std::atoi(trial.c_str()));
  std::vector<double> rest, direct;
  for (int i = 0; i < kWarm + kCalls; ++i) {
    const auto began = std::chrono::steady_clock::now();
    AskByRest(fd, request);
    const double by_rest = Milliseconds(began);
    const auto again = std::chrono::steady_clock::now();
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + token);
    api::v1::GetTrialResponse response;
    if (!stub->GetTrial(&context, wanted, &response).ok()) std::exit(1);
    const double by_grpc = Milliseconds(again);
    if (i < kWarm) continue;
    rest.push_back(by_rest);
    direct.push_back(by_grpc);
  }
  std::sort(rest.begin(), rest.end());
  std::sort(direct.begin(), direct.end());
  std::printf("%f %f\n", rest[kCalls / 2], direct[kCalls / 2]);
}

}  // namespace
}  // namespace det::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: gateway_bench PORT TOKEN TRIAL\n");
    return 2;
  }
  det::bench::Run(std::atoi(argv[1]), argv[2], argv[3]);
  return 0;
}
