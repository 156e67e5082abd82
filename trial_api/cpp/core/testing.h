// Helpers for tests: runs several ranks as processes, as in production. RunRanks forks, so it must
// be called before the test starts threads. Used by tests of this directory and of those above it.
#ifndef TRIAL_API_CPP_CORE_TESTING_H_
#define TRIAL_API_CPP_CORE_TESTING_H_

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <vector>

#include "trial_api/cpp/core/ranks.h"

namespace det::core {

inline Ranks OneMachine(int rank, int size) {
  Ranks ranks;
  ranks.rank = ranks.local_rank = rank;
  ranks.size = ranks.local_size = size;
  return ranks;
}

// Runs `body` once per rank, each in a process. Its result is the exit code; an exception is
// printed and gives 99. Returns how each process ended: its exit code, or the negative signal.
inline std::vector<int> RunRanks(int size, const std::function<int(const Ranks&)>& body) {
  std::fflush(nullptr);
  std::vector<pid_t> pids;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      int code = 99;
      try {
        code = body(OneMachine(rank, size));
      } catch (const std::exception& e) {
        std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
      }
      std::fflush(nullptr);
      ::_exit(code);
    }
    pids.push_back(pid);
  }
  std::vector<int> ends;
  for (const pid_t pid : pids) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    ends.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  }
  return ends;
}

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_TESTING_H_
