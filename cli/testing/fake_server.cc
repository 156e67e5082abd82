#include "cli/testing/fake_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

std::string ReadRequest(int fd) {
  std::string text;
  char buffer[4096];
  while (true) {
    const size_t end = text.find("\r\n\r\n");
    if (end != text.npos) {
      size_t length = 0;
      const size_t header = text.find("Content-Length: ");
      if (header != text.npos) {
        const size_t begin = header + 16;
        EXPECT_TRUE(absl::SimpleAtoi(text.substr(begin, text.find('\r', begin) - begin), &length));
      }
      if (text.size() >= end + 4 + length) return text;
    }
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got <= 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace

FakeServer::FakeServer(std::vector<std::string> answers, std::function<void(int fd)> before_answer)
    : before_answer_(std::move(before_answer)),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener_.get(), 8), 0);
  getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this, answers = std::move(answers)] { Serve(answers); });
}

FakeServer::~FakeServer() {
  shutdown(listener_.get(), SHUT_RDWR);
  thread_.join();
}

std::string FakeServer::url() const { return absl::StrCat("http://127.0.0.1:", port_); }

void FakeServer::Serve(const std::vector<std::string>& answers) {
  for (const std::string& answer : answers) {
    const base::Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd.valid()) return;
    requests.push_back(ReadRequest(fd.get()));
    if (before_answer_) before_answer_(fd.get());
    EXPECT_EQ(write(fd.get(), answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
  }
  // Later connections are refused.
  shutdown(listener_.get(), SHUT_RDWR);
}

std::string Answer(const std::string& status, const std::string& body) {
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
}

std::string Chunked(const std::vector<std::string>& pieces, bool end) {
  std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& piece : pieces) {
    absl::StrAppend(&text, absl::Hex(piece.size()), "\r\n", piece, "\r\n");
  }
  return end ? text + "0\r\n\r\n" : text;
}

}  // namespace det::cli
