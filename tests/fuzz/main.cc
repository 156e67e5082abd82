// The main program of a fuzz target. Under Bazel, as a test or with `bazel run`, the arguments are
// seed files, and the program runs for kSeconds. Options of libFuzzer after the seeds override
// those of the test; an absolute path is an input that is run instead of fuzzing. Without Bazel,
// all arguments are passed to libFuzzer.
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

// Writes each seed to a separate file in `folder`.
void WriteCorpus(const std::vector<std::string>& seeds, const std::string& folder) {
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

std::string GetEnvOr(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

// The arguments of libFuzzer for a run under Bazel with the arguments `given`.
std::vector<std::string> MakeArguments(const std::string& program,
                                       const std::vector<std::string>& given,
                                       const std::string& scratch) {
  const uint32_t seed = std::random_device{}();
  std::cerr << "seed " << seed << "\n";
  std::vector<std::string> words = {
      program,
      absl::StrCat("-seed=", seed),
      absl::StrCat("-max_total_time=", kSeconds),
      "-timeout=20",
      "-rss_limit_mb=4096",
      "-print_final_stats=1",
      "-artifact_prefix=" + GetEnvOr("TEST_UNDECLARED_OUTPUTS_DIR", scratch) + "/"};
  std::vector<std::string> seeds, inputs;
  for (const std::string& word : given) {
    const char first = word.empty() ? ' ' : word.front();
    (first == '-' ? words : first == '/' ? inputs : seeds).push_back(word);
  }
  if (inputs.empty()) {
    inputs = {scratch + "/corpus"};
    if (!det::base::MakeDirs(inputs.front()).ok()) std::abort();
    WriteCorpus(seeds, inputs.front());
  }
  words.insert(words.end(), inputs.begin(), inputs.end());
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  const std::string scratch = GetEnvOr("TEST_TMPDIR", "");
  if (!scratch.empty()) words = MakeArguments(words[0], {words.begin() + 1, words.end()}, scratch);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(words.size());
  char** first = pointers.data();
  return LLVMFuzzerRunDriver(&count, &first, LLVMFuzzerTestOneInput);
}
