// Copies what one process writes to one of the launcher's own streams, in whole lines with a
// prefix, so that lines of several processes never mix. Used by RunChildren on the main thread.
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

  // Any piece of output. A line ends with '\n' or '\r', or when it is too long to wait for its end.
  void Add(std::string_view bytes);
  // The end: what has no line end yet gets one.
  void Finish();
  // The last line that says something, one that begins with "ERROR: " before others, without spaces
  // around it: of a process that failed, why.
  const std::string& last_words() const { return last_words_; }

 private:
  void EmitPending();

  const std::string prefix_;
  const Sink sink_;
  std::string pending_;
  std::string out_;
  std::string last_words_;
};

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_LINE_COPIER_H_
