// Terminals of shells for browsers, which have no SSH client: the master is the client of the
// shell's sshd, with the shell's own key, and serves a terminal as a stream of bytes.
//
// To the terminal, the stream consists of messages: one byte for the kind, two for the length of
// the body (big-endian), and the body. Kind 0 is what was typed; kind 1 is the size of the terminal
// as two numbers of two bytes, columns and rows. From the terminal, the stream is what it shows.
#ifndef MASTER_PROXY_TERMINALS_H_
#define MASTER_PROXY_TERMINALS_H_

#include <memory>
#include <string>

#include "base/fd.h"
#include "master/proxy/task_dialer.h"

namespace det::proxy {

// What the client of a shell needs.
struct ShellLogin {
  std::string user;         // as which the shell runs
  std::string private_key;  // in the format of OpenSSH
  std::string public_key;   // a line of authorized_keys; also sshd's host key
};

class Terminals {
 public:
  static constexpr int kMaxTerminals = 64;  // each has a thread

  Terminals();
  ~Terminals();  // ends all terminals, and waits for them

  // Logs in over a connection to the shell's sshd. The reply is the client's end of the stream, or
  // UNAVAILABLE if sshd refuses the login, or RESOURCE_EXHAUSTED. Any thread; does not block.
  void Open(base::Fd sshd, ShellLogin login, TaskDialer::Reply reply);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace det::proxy

#endif  // MASTER_PROXY_TERMINALS_H_
