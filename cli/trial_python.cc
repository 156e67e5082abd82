#include "cli/trial_python.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "base/subprocess.h"
#include "cli/program.h"

namespace det::cli {
namespace {

// Returns the directory of the Python package; empty if there is none.
std::string FindPythonPackage() {
  for (const char* folder : {"trial_api/python/package/det", "lib/resolute/python/det"}) {
    const absl::StatusOr<std::string> file = FindProgram(folder, "sync.py");
    if (file.ok()) return std::filesystem::path(*file).parent_path().parent_path().string();
  }
  return "";
}

// Returns nullopt if the other end is still open at `end`.
std::optional<std::string> ReadAll(int fd, absl::Time end) {
  std::string all;
  std::array<char, 4096> block;
  while (true) {
    const int64_t left = absl::ToInt64Milliseconds(end - absl::Now());
    if (left <= 0) return std::nullopt;
    pollfd ready = {fd, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(std::min<int64_t>(left, 60'000))) <= 0) continue;
    const ssize_t size = ::read(fd, block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return all;
    all.append(block.data(), static_cast<size_t>(size));
  }
}

}  // namespace

std::string PythonPath() {
  const char* before = std::getenv("PYTHONPATH");
  const std::string package = FindPythonPackage();
  if (before == nullptr) return package;
  return package.empty() ? before : absl::StrCat(package, ":", before);
}

absl::StatusOr<std::string> DescribeTrialPython(absl::Duration limit) {
  base::SpawnOptions options;
  options.argv = {"python3", "-B", "-m", "det.launch._python"};
  options.env = MakeEnvironment({absl::StrCat("PYTHONPATH=", PythonPath())});
  options.out = base::Redirect::Pipe();
  options.err = base::Redirect::Null();
  const absl::StatusOr<base::ChildProcess> child = base::Spawn(options);
  if (!child.ok()) return absl::NotFoundError("there is no python3 on PATH: install it");
  const std::optional<std::string> output = ReadAll(child->out.get(), absl::Now() + limit);
  // Each Python that it tries is in its group.
  if (!output) base::KillGroup(child->pid, SIGKILL).IgnoreError();
  DET_ASSIGN_OR_RETURN(const base::ProcessExit exit, base::WaitForExit(child->pid));
  if (!output) {
    return absl::DeadlineExceededError(
        absl::StrCat("the search for one with torch took longer than ", absl::FormatDuration(limit),
                     " and was stopped; find the slow one with `time python3 -c \"\"` for each "
                     "python3 on PATH"));
  }
  const std::string sentence(absl::StripAsciiWhitespace(*output));
  if (exit.ok()) return sentence;
  return absl::NotFoundError(
      sentence.empty() ? "python3 cannot run the package det: it needs Python 3.9 or later"
                       : sentence);
}

}  // namespace det::cli
