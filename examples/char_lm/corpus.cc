#include "corpus.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "det/trial.h"

namespace {

namespace fs = std::filesystem;

constexpr size_t kPerFile = 64 << 10;
constexpr uint64_t kValidationOneOf = 20;

// FNV-1a, which is the same on every machine, unlike std::hash.
uint64_t Hash(std::string_view text, uint64_t hash = 14695981039346656037u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool IsText(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name == "copyright") return false;  // contains the same licenses thousands of times
  if (EndsWith(name, ".gz")) {
    const std::string inner = path.stem().extension().string();
    const bool manual = inner.size() == 2 && inner[1] >= '1' && inner[1] <= '8';
    return manual || inner == ".txt" || inner == ".Debian" || name.rfind("changelog", 0) == 0;
  }
  return EndsWith(name, ".txt") || EndsWith(name, ".md") || name.rfind("README", 0) == 0 ||
         name.rfind("NEWS", 0) == 0 || name.rfind("changelog", 0) == 0;
}

struct File {
  uint64_t hash;
  std::string path;
  bool operator<(const File& other) const {
    return hash != other.hash ? hash < other.hash : path < other.path;
  }
};

// Sorted by a hash of their names, so that the first files are of all kinds.
std::vector<File> Find(const std::string& folder) {
  std::vector<File> files;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error);
  if (error) {
    throw det::Error("cannot read the folder " + folder + " (" + error.message() +
                     "): set data.path to one with text below it");
  }
  for (; it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (error) break;
    std::error_code ignored;
    if (it->is_symlink(ignored) || !it->is_regular_file(ignored) || !IsText(it->path())) continue;
    const std::string name = fs::relative(it->path(), folder, ignored).string();
    files.push_back({Hash(name), it->path().string()});
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Returns the beginning of a file, unpacked if it is gzipped; empty if it cannot be read or is not
// text.
std::string ReadText(const std::string& path) {
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return "";
  std::string text(kPerFile, '\0');
  const int read = gzread(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  text.resize(read > 0 ? static_cast<size_t>(read) : 0);
  return text.find('\0') == std::string::npos ? text : "";
}

torch::Tensor ToTensor(const std::string& text) {
  const torch::Tensor bytes = torch::empty({static_cast<int64_t>(text.size())}, torch::kUInt8);
  std::memcpy(bytes.data_ptr(), text.data(), text.size());
  return bytes;
}

}  // namespace

Corpus ReadCorpus(const std::string& folder, int64_t max_bytes, int64_t min_bytes) {
  std::string training;
  std::string validation;
  Corpus corpus;
  const auto limit = static_cast<size_t>(max_bytes);
  for (const File& file : Find(folder)) {
    std::string text = ReadText(file.path);
    if (text.empty()) continue;
    const size_t left = limit - std::min(limit, training.size() + validation.size());
    if (left == 0) break;
    text.resize(std::min(text.size(), left));
    (file.hash % kValidationOneOf == 0 ? validation : training) += text;
    ++corpus.files;
  }
  const auto bytes = static_cast<int64_t>(training.size() + validation.size());
  if (bytes < min_bytes || validation.empty()) {
    throw det::Error("found " + std::to_string(bytes) + " bytes of text in " +
                     std::to_string(corpus.files) + " files below " + folder +
                     ", fewer than data.min_bytes (" + std::to_string(min_bytes) +
                     "): set data.path to a directory with more text (minimal installations omit "
                     "documentation), or reduce data.min_bytes");
  }
  corpus.fingerprint = Hash(validation, Hash(training));
  corpus.training = ToTensor(training);
  corpus.validation = ToTensor(validation);
  return corpus;
}

Streams::Streams(torch::Tensor bytes, int64_t streams, int64_t length)
    : bytes_(std::move(bytes)),
      streams_(streams),
      length_(length),
      // The last byte is only a target.
      chunks_((bytes_.numel() - 1) / streams / length) {
  if (chunks_ < 1) {
    throw det::Error("a corpus of " + std::to_string(bytes_.numel()) + " bytes is too short for " +
                     std::to_string(streams) + " streams of chunks of " + std::to_string(length));
  }
}

std::vector<torch::Tensor> Streams::get(int64_t index) const {
  const int64_t begin = (index % streams_) * chunks_ * length_ + (index / streams_) * length_;
  return {bytes_.slice(0, begin, begin + length_), bytes_.slice(0, begin + 1, begin + 1 + length_)};
}
