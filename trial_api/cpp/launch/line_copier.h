// Copies the output of a process to one of the launcher's streams, in whole lines with a prefix, so
// that lines of several processes do not mix. Used by RunChildren on the main thread.
#ifndef TRIAL_API_CPP_LAUNCH_LINE_COPIER_H_
#define TRIAL_API_CPP_LAUNCH_LINE_COPIER_H_

#include <functional>
#include <string>
#include <string_view>

namespace det::launch {

class LineCopier {
 public:
  using Sink = std::function<void(std::string_view text)>;

  LineCopier(std::string prefix, Sink sink);

  // Adds a piece of output. A line ends with '\n' or '\r', or when it exceeds the maximum length.
  void Add(std::string_view bytes);
  // Called at the end: an incomplete line gets a line end.
  void Finish();
  // Returns the last non-empty line, preferring lines that begin with "ERROR: ", without
  // surrounding spaces: for a failed process, the reason.
  const std::string& last_line() const { return last_line_; }

 private:
  void EmitPending();

  const std::string prefix_;
  const Sink sink_;
  std::string pending_;
  std::string out_;
  std::string last_line_;
};

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_LINE_COPIER_H_
