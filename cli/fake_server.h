// An HTTP server for tests: answers each connection with the next of some prepared texts, then
// nobody listens any more.
// Made and destroyed on the test's thread; serves on one of its own.
#ifndef CLI_FAKE_SERVER_H_
#define CLI_FAKE_SERVER_H_

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace det::cli {

class FakeServer {
 public:
  // `before_answer` is called on the server's thread with the socket of whoever has asked.
  explicit FakeServer(std::vector<std::string> answers,
                      std::function<void(int fd)> before_answer = nullptr);
  // Those that nobody asked for by then are left.
  ~FakeServer();

  std::string url() const;

  // What was asked. Read after the server's end only, or after the answer to the last.
  std::vector<std::string> requests;

 private:
  void Serve(const std::vector<std::string>& answers);

  const std::function<void(int fd)> before_answer_;
  base::Fd listener_;
  int port_ = 0;
  std::thread thread_;
};

// A whole response, `status` as "200 OK".
std::string Answer(const std::string& status, const std::string& body);

// A stream, torn as `pieces` are. Without an end it breaks off.
std::string Chunked(const std::vector<std::string>& pieces, bool end = true);

}  // namespace det::cli

#endif  // CLI_FAKE_SERVER_H_
