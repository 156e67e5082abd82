// The program of a fuzz target. As a test, which is told by what Bazel sets, its arguments are
// seeds, and it runs for a while; otherwise they are libFuzzer's.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"

extern "C" {
int LLVMFuzzerRunDriver(int* argc, char*** argv, int (*test)(const uint8_t* data, size_t size));
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
}

namespace {

constexpr int kSeconds = 30;

// Each seed as a file of its own in `folder`.
void Lay(const std::vector<std::string>& seeds, const std::string& folder) {
  int number = 0;
  for (const std::string& seed : seeds) {
    const std::string all = *det::base::ReadFile(seed);
    const std::vector<std::string> parts = absl::EndsWith(seed, ".seeds")
                                               ? absl::StrSplit(all, "%%\n", absl::SkipEmpty())
                                               : std::vector<std::string>{all};
    for (const std::string& part : parts) {
      const std::string path = absl::StrCat(folder, "/", number++);
      if (!det::base::WriteFileAtomically(path, part, 0600).ok()) std::abort();
    }
  }
}

std::string EnvOr(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  const std::string scratch = EnvOr("TEST_TMPDIR", "");
  if (!scratch.empty()) {
    const std::string corpus = scratch + "/corpus";
    if (!det::base::MakeDirs(corpus).ok()) return 1;
    Lay({words.begin() + 1, words.end()}, corpus);
    const uint32_t seed = std::random_device{}();
    std::cerr << "seed " << seed << "\n";
    words = {words[0],
             absl::StrCat("-seed=", seed),
             absl::StrCat("-max_total_time=", kSeconds),
             "-timeout=20",
             "-rss_limit_mb=4096",
             "-print_final_stats=1",
             "-artifact_prefix=" + EnvOr("TEST_UNDECLARED_OUTPUTS_DIR", scratch) + "/",
             corpus};
  }
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(words.size());
  char** first = pointers.data();
  return LLVMFuzzerRunDriver(&count, &first, LLVMFuzzerTestOneInput);
}
