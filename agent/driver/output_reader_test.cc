#include "agent/driver/output_reader.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace det::agent {
namespace {

struct Case {
  std::string line;
  std::optional<int> rank;
  LogLevel level = LogLevel::kInfo;
  std::string text;
};

TEST(OutputReaderTest, ParsesRankLevelAndText) {
  const Case cases[] = {
      {"plain", {}, LogLevel::kInfo, "plain"},
      {"", {}, LogLevel::kInfo, ""},
      {"[rank=3] hello", 3, LogLevel::kInfo, "hello"},
      {"[rank=0]", 0, LogLevel::kInfo, ""},
      {"[rank=x] hello", {}, LogLevel::kInfo, "[rank=x] hello"},
      {"[rank=-1] hello", {}, LogLevel::kInfo, "[rank=-1] hello"},
      {"[rank=1] ERROR: bad", 1, LogLevel::kError, "ERROR: bad"},
      {"ERROR: bad", {}, LogLevel::kError, "ERROR: bad"},
      {"WARNING:root:careful", {}, LogLevel::kWarning, "WARNING:root:careful"},
      {"DEBUG: x", {}, LogLevel::kDebug, "DEBUG: x"},
      {"TRACE: x", {}, LogLevel::kTrace, "TRACE: x"},
      {"FATAL: x", {}, LogLevel::kCritical, "FATAL: x"},
      {"[2024-05-01 12:00:00,123 ERROR] x",
       {},
       LogLevel::kError,
       "[2024-05-01 12:00:00,123 ERROR] x"},
      {"[2024-05-01 12:00:00] WARNING x",
       {},
       LogLevel::kWarning,
       "[2024-05-01 12:00:00] WARNING x"},
      {"2024-05-01 12:00:00,123 - ERROR - x",
       {},
       LogLevel::kError,
       "2024-05-01 12:00:00,123 - ERROR - x"},
      {"2024-05-01T12:00:00.123Z CRITICAL x",
       {},
       LogLevel::kCritical,
       "2024-05-01T12:00:00.123Z CRITICAL x"},
      {"[INFO] x", {}, LogLevel::kInfo, "[INFO] x"},
      {"[WARN] x", {}, LogLevel::kWarning, "[WARN] x"},
      {"ERROR in the middle of talk", {}, LogLevel::kInfo, "ERROR in the middle of talk"},
      {"no ERROR: here", {}, LogLevel::kInfo, "no ERROR: here"},
      {"ERRORS: 3", {}, LogLevel::kInfo, "ERRORS: 3"},
      {"[unclosed", {}, LogLevel::kInfo, "[unclosed"},
      {"ValueError: bad", {}, LogLevel::kError, "ValueError: bad"},
      {"torch.OutOfMemoryError: CUDA", {}, LogLevel::kError, "torch.OutOfMemoryError: CUDA"},
      {"the ValueError: is gone", {}, LogLevel::kInfo, "the ValueError: is gone"},
      {"MeanSquaredError 0.1", {}, LogLevel::kInfo, "MeanSquaredError 0.1"},
      {"terminate called after throwing", {}, LogLevel::kError, "terminate called after throwing"},
      {"  what():  no such file", {}, LogLevel::kError, "  what():  no such file"},
  };
  for (const Case& expected : cases) {
    const OutputLine line = OutputReader().Read(OutputStream::kStdout, expected.line);
    EXPECT_EQ(line.rank, expected.rank) << expected.line;
    EXPECT_EQ(line.level, expected.level) << expected.line;
    EXPECT_EQ(line.text, expected.text);
    EXPECT_EQ(line.source, "task");
  }
}

// Returns the levels of lines that a task wrote to stderr.
std::vector<LogLevel> ReadLevels(const std::vector<std::string>& lines) {
  OutputReader reader;
  std::vector<LogLevel> levels;
  for (const std::string& line : lines) {
    levels.push_back(reader.Read(OutputStream::kStderr, line).level);
  }
  return levels;
}

TEST(OutputReaderTest, TracebackHasLevelError) {
  constexpr LogLevel kInfo = LogLevel::kInfo;
  constexpr LogLevel kError = LogLevel::kError;
  EXPECT_EQ(ReadLevels({"step 1", "Traceback (most recent call last):", "  File \"a.py\", line 1",
                        "    train()", "KeyboardInterrupt", "step 2"}),
            (std::vector{kInfo, kError, kError, kError, kError, kInfo}));
  // An exception that was raised while another was handled.
  EXPECT_EQ(
      ReadLevels({"Traceback (most recent call last):", "  File", "KeyError: 'x'", "",
                  "During handling of the above exception, another exception occurred:", "",
                  "Traceback (most recent call last):", "  File", "Stop", "done"}),
      (std::vector{kError, kError, kError, kInfo, kInfo, kInfo, kError, kError, kError, kInfo}));
  // A traceback that is interrupted by a line with its own level.
  EXPECT_EQ(
      ReadLevels({"ERROR: Traceback (most recent call last):", "  File", "INFO: step 3", "x"}),
      (std::vector{kError, kError, kInfo, kInfo}));
  EXPECT_EQ(ReadLevels({"[rank0]: Traceback (most recent call last):", "[rank0]:   File",
                        "[rank0]: MyTrouble", "x"}),
            (std::vector{kError, kError, kError, kInfo}));
}

TEST(OutputReaderTest, SeparatesTracebacksOfRanksAndStreams) {
  OutputReader reader;
  reader.Read(OutputStream::kStderr, "[rank=1] Traceback (most recent call last):");
  EXPECT_EQ(reader.Read(OutputStream::kStderr, "[rank=0]   step 3").level, LogLevel::kInfo);
  EXPECT_EQ(reader.Read(OutputStream::kStdout, "[rank=1] step 3").level, LogLevel::kInfo);
  EXPECT_EQ(reader.Read(OutputStream::kStderr, "[rank=1]   File").level, LogLevel::kError);
  EXPECT_EQ(reader.Read(OutputStream::kStderr, "[rank=1] Stop").level, LogLevel::kError);
  EXPECT_EQ(reader.Read(OutputStream::kStderr, "[rank=1] on").level, LogLevel::kInfo);
}

TEST(ToValidTextTest, ReplacesInvalidBytes) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(ToValidText("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"),
            "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(ToValidText(std::string("a\0b", 3)), std::string("a\0b", 3));
  EXPECT_EQ(ToValidText("\xFF"), bad);
  EXPECT_EQ(ToValidText("\xC3"), bad);
  EXPECT_EQ(ToValidText("\xC0\x80"), bad + bad);            // overlong
  EXPECT_EQ(ToValidText("\xED\xA0\x80"), bad + bad + bad);  // half a surrogate
  EXPECT_EQ(ToValidText("\xF4\x90\x80\x80"), bad + bad + bad + bad);
}

}  // namespace
}  // namespace det::agent
