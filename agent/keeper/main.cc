// Entry point of resolute-keeper DIRECTORY, which an agent starts for one task. It detaches from
// the agent and its terminal, and lets its parent continue once the task is running, or once it is
// known why it does not start.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <string>

#include "absl/status/statusor.h"
#include "agent/keeper/keeper.h"

namespace det::agent {
namespace {

int Keep(const std::string& folder, int ready) {
  absl::StatusOr<Keeper> keeper = Keeper::TakeOver(folder);
  if (!keeper.ok()) {
    std::cerr << "resolute-keeper: " << keeper.status().message() << "\n";
    return 1;
  }
  keeper->Run([ready] {
    [[maybe_unused]] const ssize_t wrote = ::write(ready, "", 1);
    ::close(ready);
  });
  return 0;
}

int Main(int argc, char** argv) {
  std::array<int, 2> ready;
  if (argc != 2 || argv[1][0] != '/') {
    std::cerr << "resolute-keeper: usage: resolute-keeper DIRECTORY (absolute path; started by "
                 "resolute-agent)\n";
    return 2;
  }
  if (::pipe2(ready.data(), O_CLOEXEC) != 0) return 1;
  const pid_t pid = ::fork();
  if (pid < 0) return 1;
  if (pid == 0) {
    ::close(ready[0]);
    // A new session; init becomes the parent when this process's parent ends.
    if (::setsid() < 0 || ::chdir("/") != 0) return 1;
    return Keep(argv[1], ready[1]);
  }
  ::close(ready[1]);
  char byte = 0;
  return ::read(ready[0], &byte, 1) == 1 ? 0 : 1;
}

}  // namespace
}  // namespace det::agent

int main(int argc, char** argv) { return det::agent::Main(argc, argv); }
