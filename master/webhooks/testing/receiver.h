// An HTTP server on the loopback interface that records requests. Used by tests.
#ifndef MASTER_WEBHOOKS_TESTING_RECEIVER_H_
#define MASTER_WEBHOOKS_TESTING_RECEIVER_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace det::webhooks {

struct Received {
  std::string head;  // request line and headers
  std::string body;

  // The value of a header; "" if absent.
  std::string Header(const std::string& name) const {
    const size_t at = head.find("\r\n" + name + ": ");
    if (at == head.npos) return "";
    const size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class Receiver {
 public:
  // Responds with these statuses, then always with "200 OK"; for an empty one, never responds.
  explicit Receiver(std::deque<std::string> answers = {}) : answers_(std::move(answers)) {
    listener_ = base::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_.get(), any, size) != 0 || ::listen(listener_.get(), 16) != 0 ||
        ::getsockname(listener_.get(), any, &size) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~Receiver() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/hook?secret=s"; }

  // Waits until `count` requests were received.
  std::vector<Received> Await(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return received_.size() >= count; });
    return received_;
  }
  size_t count() {
    std::lock_guard lock(mutex_);
    return received_.size();
  }

 private:
  void Run() {
    std::vector<base::Fd> silent;
    while (true) {
      base::Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer.valid()) return;
      Received request = Read(peer.get());
      std::string answer("200 OK");
      if (!answers_.empty()) {
        answer = answers_.front();
        answers_.pop_front();
      }
      {
        std::lock_guard lock(mutex_);
        received_.push_back(std::move(request));
      }
      changed_.notify_all();
      if (answer.empty()) {
        silent.push_back(std::move(peer));
        continue;
      }
      const std::string text =
          "HTTP/1.1 " + answer + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      (void)!::send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL);
    }
  }

  static Received Read(int fd) {
    std::string text;
    size_t end = text.npos;
    size_t length = 0;
    char buffer[4096];
    while (end == text.npos || text.size() < end + 4 + length) {
      const ssize_t got = ::recv(fd, buffer, sizeof(buffer), 0);
      if (got <= 0) break;
      text.append(buffer, static_cast<size_t>(got));
      end = text.find("\r\n\r\n");
      if (end == text.npos) continue;
      length = std::strtoul(Received{text.substr(0, end + 2), ""}.Header("Content-Length").c_str(),
                            nullptr, 10);
    }
    if (end == text.npos) return {text, ""};
    return {text.substr(0, end + 2), text.substr(end + 4)};
  }

  std::deque<std::string> answers_;
  base::Fd listener_;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Received> received_;
  std::thread thread_;
};

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_TESTING_RECEIVER_H_
