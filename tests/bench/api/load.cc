// Simulates concurrent users, each with a thread and a connection, and prints the latencies of the
// responses by request name. Each user waits for a response before the next request, so the load
// depends on the users and not on the speed of this program.
//
// Usage: load PORT TOKENS REQUESTS SECONDS PAUSE_MS
//   TOKENS    a file with the token of one user per line
//   REQUESTS  a file with lines of name, method, path and body, separated by tabs. A user sends
//             them one after the other, pauses, and starts again. In path and body, {n} is replaced
//             by the number of the user's request, from 1, and {user} by the number of the user,
//             with three digits.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace det::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Request {
  std::string name, verb, path, body;
};
struct Figures {
  std::vector<double> milliseconds;
  int64_t bytes = 0;
  int failed = 0;
  std::string failure;
};
using ByName = std::map<std::string, Figures>;

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "load: %s\n", why.c_str());
  std::exit(2);
}

// A persistent connection, with data that was read beyond the last response.
class Connection {
 public:
  explicit Connection(int port) : port_(port) {}
  ~Connection() { Close(); }

  // Returns the HTTP status, or 0 if the connection broke. `size`: size of the body in bytes. A
  // master may close a connection between two calls, after a stream; the call is then repeated.
  int Send(const std::string& request, std::string* text, size_t* size) {
    const bool kept = socket_ >= 0;
    const int status = Try(request, text, size);
    return status == 0 && kept ? Try(request, text, size) : status;
  }

 private:
  int Try(const std::string& request, std::string* text, size_t* size) {
    if (socket_ < 0) Open();
    if (!WriteAll(request)) return Close();
    size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!ReadMore()) return Close();
    }
    const std::string head = buffer_.substr(0, end);
    buffer_.erase(0, end + 4);
    text->clear();
    const size_t length = head.find("ontent-Length: ");
    const size_t lower = head.find("ontent-length: ");
    const size_t at = std::min(length, lower);
    const bool whole = at == std::string::npos
                           ? ReadChunks(text)
                           : ReadBody(std::strtoul(head.c_str() + at + 15, nullptr, 10), text);
    if (!whole) return Close();
    *size = text->size();
    return std::atoi(head.c_str() + std::min<size_t>(head.find(' ') + 1, head.size()));
  }
  void Open() {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      Die("cannot connect");
    }
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  int Close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
    buffer_.clear();
    return 0;
  }
  bool WriteAll(const std::string& text) {
    for (size_t done = 0; done < text.size();) {
      const ssize_t count = ::send(socket_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (count <= 0) return false;
      done += static_cast<size_t>(count);
    }
    return true;
  }
  bool ReadMore() {
    std::array<char, 65536> piece;
    const ssize_t count = ::recv(socket_, piece.data(), piece.size(), 0);
    if (count <= 0) return false;
    buffer_.append(piece.data(), static_cast<size_t>(count));
    return true;
  }
  bool ReadBody(size_t length, std::string* text) {
    while (buffer_.size() < length) {
      if (!ReadMore()) return false;
    }
    text->append(buffer_, 0, length);
    buffer_.erase(0, length);
    return true;
  }
  bool ReadChunks(std::string* text) {
    while (true) {
      size_t end = 0;
      while ((end = buffer_.find("\r\n")) == std::string::npos) {
        if (!ReadMore()) return false;
      }
      const size_t length = std::strtoul(buffer_.c_str(), nullptr, 16);
      buffer_.erase(0, end + 2);
      std::string chunk;
      if (!ReadBody(length + 2, &chunk)) return false;
      if (length == 0) return true;
      text->append(chunk, 0, length);
    }
  }

  const int port_;
  int socket_ = -1;
  std::string buffer_;
};

std::vector<std::string> ReadLines(const char* path) {
  std::ifstream file(path);
  if (!file) Die(std::string("cannot read ") + path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<Request> ReadRequests(const char* path) {
  std::vector<Request> requests;
  for (const std::string& line : ReadLines(path)) {
    std::array<std::string, 4> fields;
    size_t begin = 0;
    for (std::string& field : fields) {
      if (begin > line.size()) break;
      const size_t end = std::min(line.find('\t', begin), line.size());
      field = line.substr(begin, end - begin);
      begin = end + 1;
    }
    requests.push_back({fields[0], fields[1], fields[2], fields[3]});
  }
  return requests;
}

std::string Replace(std::string text, const std::string& name, const std::string& digits) {
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += digits.size()) {
    text.replace(at, name.size(), digits);
  }
  return text;
}

ByName BeUser(int port, const std::string& token, const std::vector<Request>& requests,
              Clock::time_point until, std::chrono::milliseconds pause, size_t user, size_t users) {
  ByName figures;
  const size_t first = user * requests.size() / users;  // users start at different requests
  const std::string number = std::to_string(1000 + user).substr(1);
  size_t sent = 0;
  Connection connection(port);
  std::string body;
  while (Clock::now() < until) {
    for (size_t i = 0; i < requests.size() && Clock::now() < until; ++i) {
      const Request& request = requests[(i + first) % requests.size()];
      ++sent;
      const std::string path =
          Replace(Replace(request.path, "{n}", std::to_string(sent)), "{user}", number);
      const std::string content =
          Replace(Replace(request.body, "{n}", std::to_string(sent)), "{user}", number);
      const std::string text = request.verb + " " + path +
                               " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token +
                               "\r\nContent-Type: application/json\r\nContent-Length: " +
                               std::to_string(content.size()) + "\r\n\r\n" + content;
      Figures& figure = figures[request.name];
      const Clock::time_point began = Clock::now();
      size_t size = 0;
      const int status = connection.Send(text, &body, &size);
      const std::chrono::duration<double, std::milli> took = Clock::now() - began;
      figure.milliseconds.push_back(took.count());
      figure.bytes += static_cast<int64_t>(size);
      if (status == 200) continue;
      ++figure.failed;
      figure.failure = std::to_string(status) + " " + body.substr(0, 200);
    }
    std::this_thread::sleep_for(pause);
  }
  return figures;
}

double Quantile(const std::vector<double>& sorted, double part) {
  return sorted[std::min(sorted.size() - 1,
                         static_cast<size_t>(part * static_cast<double>(sorted.size())))];
}

// One line per name: count, failures, p50, p95 and maximum in ms, mean size in bytes, p99 in ms.
void Print(ByName& all, double seconds) {
  size_t total = 0;
  for (auto& [name, figure] : all) {
    std::vector<double>& times = figure.milliseconds;
    std::sort(times.begin(), times.end());
    total += times.size();
    std::printf("%s\t%zu\t%d\t%.2f\t%.2f\t%.2f\t%lld\t%.2f\n", name.c_str(), times.size(),
                figure.failed, Quantile(times, 0.5), Quantile(times, 0.95), times.back(),
                static_cast<long long>(figure.bytes / static_cast<int64_t>(times.size())),
                Quantile(times, 0.99));
    if (figure.failed > 0) std::fprintf(stderr, "%s: %s\n", name.c_str(), figure.failure.c_str());
  }
  std::printf("TOTAL\t%zu\t%.1f per second\n", total, static_cast<double>(total) / seconds);
}

void Run(char** args) {
  const int port = std::atoi(args[1]);
  const std::vector<std::string> tokens = ReadLines(args[2]);
  const std::vector<Request> requests = ReadRequests(args[3]);
  const int seconds = std::atoi(args[4]);
  const std::chrono::milliseconds pause(std::atoi(args[5]));
  const Clock::time_point began = Clock::now();
  std::vector<ByName> figures(tokens.size());
  std::vector<std::thread> users;
  for (size_t i = 0; i < tokens.size(); ++i) {
    users.emplace_back([&, i] {
      figures[i] = BeUser(port, tokens[i], requests, began + std::chrono::seconds(seconds), pause,
                          i, tokens.size());
    });
  }
  for (std::thread& user : users) user.join();
  const std::chrono::duration<double> took = Clock::now() - began;
  ByName all;
  for (ByName& of_user : figures) {
    for (auto& [name, figure] : of_user) {
      Figures& sum = all[name];
      sum.milliseconds.insert(sum.milliseconds.end(), figure.milliseconds.begin(),
                              figure.milliseconds.end());
      sum.bytes += figure.bytes;
      sum.failed += figure.failed;
      if (figure.failed > 0) sum.failure = figure.failure;
    }
  }
  Print(all, took.count());
}

}  // namespace
}  // namespace det::bench

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: load PORT TOKENS REQUESTS SECONDS PAUSE_MS\n");
    return 2;
  }
  det::bench::Run(argv);
  return 0;
}
