// An HTTP server for tests. Answers each connection with the next of the prepared responses, then
// stops listening. Created and destroyed on the test's thread; serves on its own thread.
#ifndef CLI_TESTING_FAKE_SERVER_H_
#define CLI_TESTING_FAKE_SERVER_H_

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace det::cli {

class FakeServer {
 public:
  // `before_answer` is called on the server's thread with the socket of the client.
  explicit FakeServer(std::vector<std::string> answers,
                      std::function<void(int fd)> before_answer = nullptr);
  // Responses that were not requested are dropped.
  ~FakeServer();

  std::string url() const;

  // The received requests. Read only after the server has ended, or after its last response.
  std::vector<std::string> requests;

 private:
  void Serve(const std::vector<std::string>& answers);

  const std::function<void(int fd)> before_answer_;
  base::Fd listener_;
  int port_ = 0;
  std::thread thread_;
};

// Returns a complete response; `status` is like "200 OK".
std::string Answer(const std::string& status, const std::string& body);

// Returns a chunked response with one chunk per piece. Without `end` the response is cut off.
std::string Chunked(const std::vector<std::string>& pieces, bool end = true);

}  // namespace det::cli

#endif  // CLI_TESTING_FAKE_SERVER_H_
