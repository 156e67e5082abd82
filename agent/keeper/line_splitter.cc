#include "agent/keeper/line_splitter.h"

#include <algorithm>
#include <utility>

namespace det::agent {
namespace {

// Returns whether `byte` is a UTF-8 continuation byte.
bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

void LineSplitter::Feed(absl::string_view chunk, std::vector<std::string>& lines) {
  while (!chunk.empty()) {
    const size_t end = chunk.find_first_of("\r\n");
    if (end != 0 && after_return_) {
      FlushReturn(lines);
      StartLine();
    }
    partial_.append(chunk.data(), std::min(end, chunk.size()));
    CutLongLine(lines);
    if (end == absl::string_view::npos) return;
    const bool carriage_return = chunk[end] == '\r';
    chunk.remove_prefix(end + 1);
    after_return_ = carriage_return && !partial_.empty();
    if (!carriage_return) EndLine(lines);
  }
}

void LineSplitter::FlushReturn(std::vector<std::string>& lines) {
  if (!HasPendingReturn()) return;
  lines.push_back(partial_ + '\r');
  flushed_ = true;
}

void LineSplitter::Finish(std::vector<std::string>& lines) {
  if (!partial_.empty() && !flushed_) lines.push_back(std::move(partial_));
  StartLine();
}

void LineSplitter::EndLine(std::vector<std::string>& lines) {
  lines.push_back(std::move(partial_));
  StartLine();
}

void LineSplitter::StartLine() {
  partial_.clear();
  after_return_ = flushed_ = false;
}

void LineSplitter::CutLongLine(std::vector<std::string>& lines) {
  while (partial_.size() > kMaxLine) {
    size_t cut = kMaxLine;
    while (cut > kMaxLine - 4 && IsContinuation(partial_[cut])) --cut;
    lines.push_back(partial_.substr(0, cut));
    partial_.erase(0, cut);
  }
}

}  // namespace det::agent
