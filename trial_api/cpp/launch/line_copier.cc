#include "trial_api/cpp/launch/line_copier.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace det::launch {
namespace {

constexpr size_t kMaxLineLength = 64 << 10;
constexpr char kError[] = "ERROR: ";

}  // namespace

LineCopier::LineCopier(std::string prefix, Sink sink)
    : prefix_(std::move(prefix)), sink_(std::move(sink)) {}

void LineCopier::Add(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find_first_of("\r\n");
    if (end == std::string_view::npos) {
      pending_ += bytes;
      if (pending_.size() >= kMaxLineLength) EmitPending();
      break;
    }
    pending_ += bytes.substr(0, end);
    // "\r\n" and the '\r' before a progress bar do not produce empty lines.
    if (bytes[end] == '\n' || !pending_.empty()) EmitPending();
    const bool pair = bytes.substr(end, 2) == "\r\n";
    bytes.remove_prefix(end + (pair ? 2 : 1));
  }
  if (!out_.empty()) sink_(std::exchange(out_, {}));
}

void LineCopier::Finish() {
  if (!pending_.empty()) EmitPending();
  if (!out_.empty()) sink_(std::exchange(out_, {}));
}

void LineCopier::EmitPending() {
  out_ += prefix_;
  out_ += pending_;
  out_ += '\n';
  const auto line = absl::StripAsciiWhitespace(pending_);
  const bool is_error = absl::StartsWith(line, kError);
  if (!line.empty() && (is_error || !absl::StartsWith(last_line_, kError))) {
    last_line_.assign(line.data(), line.size());
  }
  pending_.clear();
}

}  // namespace det::launch
