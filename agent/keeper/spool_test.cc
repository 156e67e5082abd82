// Tests of frames, SpoolWriter and SpoolReader.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iostream>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/keeper/frame.h"
#include "agent/keeper/spool_reader.h"
#include "agent/keeper/spool_writer.h"
#include "base/file.h"
#include "base/rng.h"
#include <gtest/gtest.h>

namespace det::agent {
namespace {

const absl::Time kTime = absl::FromUnixNanos(1'700'000'000'123'456'789);

std::string Bytes(const Frame& frame) {
  std::string bytes;
  AppendFrame(frame, &bytes);
  return bytes;
}

TEST(FrameTest, ParsesWrittenFrames) {
  const Frame frames[] = {{1, kTime, OutputStream::kStdout, "one"},
                          {2, kTime, OutputStream::kStderr, ""},
                          {3, kTime, OutputStream::kStdout, std::string("\0\xFF\n", 3)}};
  std::string bytes;
  for (const Frame& frame : frames) AppendFrame(frame, &bytes);
  absl::string_view rest = bytes;
  for (const Frame& frame : frames) {
    Frame read;
    ASSERT_EQ(ParseFrame(&rest, &read), FrameState::kWhole);
    EXPECT_EQ(read, frame);
  }
  EXPECT_TRUE(rest.empty());
}

TEST(FrameTest, ReportsPartialFrame) {
  const std::string bytes = Bytes({7, kTime, OutputStream::kStdout, "some text"});
  for (size_t size = 0; size < bytes.size(); ++size) {
    absl::string_view part(bytes.data(), size);
    Frame read;
    EXPECT_EQ(ParseFrame(&part, &read), FrameState::kPartial) << size;
    EXPECT_EQ(part.size(), size) << "nothing is removed";
  }
}

TEST(FrameTest, DetectsDamage) {
  const std::string valid = Bytes({7, kTime, OutputStream::kStdout, "some text"});
  for (size_t i = 0; i < valid.size(); ++i) {
    std::string damaged = valid;
    damaged[i] ^= 0x10;
    absl::string_view bytes = damaged;
    Frame read;
    EXPECT_NE(ParseFrame(&bytes, &read), FrameState::kWhole) << "byte " << i;
  }
  const std::string zeros(64, '\0');  // some file systems leave zeros after a power failure
  absl::string_view bytes = zeros;
  Frame read;
  EXPECT_EQ(ParseFrame(&bytes, &read), FrameState::kDamaged);
}

class SpoolTest : public testing::Test {
 protected:
  static std::vector<std::string> Numbers(int from, int to) {
    std::vector<std::string> lines;
    for (int i = from; i <= to; ++i) lines.push_back(absl::StrCat(i));
    return lines;
  }
  // Returns "1 2 3", with "(n)" where n lines are missing.
  static std::string Show(const std::vector<SpooledLine>& lines) {
    std::string text;
    for (const SpooledLine& line : lines) {
      if (line.missing > 0) absl::StrAppend(&text, "(", line.missing, ") ");
      absl::StrAppend(&text, line.frame.text, " ");
    }
    return text;
  }
  std::string Read(SpoolReader& reader) { return Show(reader.Read(1 << 20)); }

  const base::TempDir dir_ = *base::TempDir::Create();
  const KeeperFolder folder_{dir_.path()};
};

TEST_F(SpoolTest, ReaderFollowsWriter) {
  SpoolWriter writer(folder_, 1 << 20);
  SpoolReader reader(folder_, 1);
  EXPECT_EQ(Read(reader), "");
  writer.Append(OutputStream::kStdout, kTime, {"a", "b"});
  EXPECT_EQ(Read(reader), "a b ");
  EXPECT_EQ(Read(reader), "");
  writer.Append(OutputStream::kStderr, kTime, {"c"});
  const std::vector<SpooledLine> lines = reader.Read(1);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].frame, (Frame{3, kTime, OutputStream::kStderr, "c"}));
  EXPECT_EQ(reader.next(), 4);
  EXPECT_EQ(writer.last_line(), 3);
}

TEST_F(SpoolTest, ReadsAcrossSegments) {
  SpoolWriter writer(folder_, 400);  // segments of 100 bytes: three lines
  SpoolReader reader(folder_, 1);
  for (int i = 1; i <= 10; ++i) {
    writer.Append(OutputStream::kStdout, kTime, {absl::StrCat(i)});
    EXPECT_EQ(Read(reader), absl::StrCat(i, " "));
  }
  EXPECT_GT(folder_.ListSegments().size(), 2u);
}

TEST_F(SpoolTest, StartsAtRequestedLine) {
  SpoolWriter writer(folder_, 4000);
  for (int i = 1; i <= 60; ++i) writer.Append(OutputStream::kStdout, kTime, {absl::StrCat(i)});
  SpoolReader reader(folder_, 58);
  EXPECT_EQ(Read(reader), "58 59 60 ");
  SpoolReader at_the_end(folder_, 61);
  EXPECT_EQ(Read(at_the_end), "");
  writer.Append(OutputStream::kStdout, kTime, {"61"});
  EXPECT_EQ(Read(at_the_end), "61 ");
}

TEST_F(SpoolTest, ReadsAtMostRequestedBytes) {
  SpoolWriter writer(folder_, 1 << 20);
  writer.Append(OutputStream::kStdout, kTime, Numbers(1, 100));
  SpoolReader reader(folder_, 1);
  const size_t one = reader.Read(1).size();
  EXPECT_EQ(one, 1u);
  EXPECT_EQ(reader.Read(1 << 20).size(), 99u);
}

TEST_F(SpoolTest, CountsMissingLines) {
  SpoolWriter writer(folder_, 400);
  for (int i = 1; i <= 30; ++i) writer.Append(OutputStream::kStdout, kTime, {absl::StrCat(i)});
  SpoolReader reader(folder_, 1);
  const std::vector<SpooledLine> lines = reader.Read(1 << 20);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0].missing, lines[0].frame.sequence - 1);
  EXPECT_GT(lines[0].missing, 0);
  EXPECT_EQ(lines.back().frame.text, "30");
}

TEST_F(SpoolTest, EnforcesLimit) {
  SpoolWriter writer(folder_, 10'000);
  for (int i = 0; i < 1000; ++i) {
    writer.Append(OutputStream::kStdout, kTime, {std::string(100, 'x')});
    int64_t bytes = 0;
    for (const Segment& segment : folder_.ListSegments()) bytes += segment.bytes;
    ASSERT_LE(bytes, 10'000 + 200) << "the limit plus one line";
  }
}

// The last frame of a writer that was killed.
TEST_F(SpoolTest, SkipsIncompleteLastFrame) {
  SpoolWriter writer(folder_, 1 << 20);
  writer.Append(OutputStream::kStdout, kTime, {"a"});
  const std::string path = folder_.File(SegmentName(1));
  const std::string torn = Bytes({2, kTime, OutputStream::kStdout, "torn"}).substr(0, 20);
  const base::Fd file(::open(path.c_str(), O_WRONLY | O_APPEND));
  ASSERT_EQ(::write(file.get(), torn.data(), torn.size()), 20);
  SpoolReader reader(folder_, 1);
  EXPECT_EQ(Read(reader), "a ");
  EXPECT_EQ(Read(reader), "");
  EXPECT_EQ(reader.next(), 2);
}

TEST_F(SpoolTest, LosesOnlyRestOfDamagedSegment) {
  SpoolWriter writer(folder_, 400);
  for (int i = 1; i <= 7; ++i) writer.Append(OutputStream::kStdout, kTime, {absl::StrCat(i)});
  const std::vector<Segment> segments = folder_.ListSegments();
  ASSERT_GE(segments.size(), 2u);
  const base::Fd file(::open(folder_.File(SegmentName(1)).c_str(), O_WRONLY));
  ASSERT_EQ(::pwrite(file.get(), "!", 1, 33 + 8), 1);  // in the header of the second line
  SpoolReader reader(folder_, 1);
  const std::string read = Read(reader);
  EXPECT_EQ(read.rfind(absl::StrCat("1 (", segments[1].first - 2, ") ", segments[1].first), 0), 0u)
      << read;
  EXPECT_NE(read.find(" 7 "), std::string::npos) << read;
}

// The disk is full for a while: the lines that could not be written are counted as missing.
TEST_F(SpoolTest, CountsLinesThatCannotBeWritten) {
  SpoolWriter writer(folder_, 40);  // segments of one line
  writer.Append(OutputStream::kStdout, kTime, {"1"});
  // A directory with the name of the next segment prevents even root from writing it.
  ASSERT_EQ(::mkdir(folder_.File(SegmentName(2)).c_str(), 0700), 0);
  writer.Append(OutputStream::kStdout, kTime, {"2"});
  ASSERT_EQ(::rmdir(folder_.File(SegmentName(2)).c_str()), 0);
  writer.Append(OutputStream::kStdout, kTime, {"3"});
  SpoolReader reader(folder_, 2);
  EXPECT_EQ(Read(reader), "(1) 3 ");
  EXPECT_EQ(writer.last_line(), 3);
}

// In any order of writing, reading and removing, lines arrive in order, each once, and missing
// lines are counted.
TEST_F(SpoolTest, KeepsInvariants_ForRandomHistories) {
  const uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  for (uint64_t round = 0; round < 50; ++round) {
    SCOPED_TRACE(absl::StrCat("seed ", seed, " round ", round));
    base::Rng rng = base::Rng(seed).Split(round);
    const base::TempDir dir = *base::TempDir::Create();
    const KeeperFolder folder(dir.path());
    SpoolWriter writer(folder, rng.UniformInt(200, 5000));
    SpoolReader reader(folder, 1);
    int64_t expected = 1;
    const auto read = [&](size_t bytes) {
      for (const SpooledLine& line : reader.Read(bytes)) {
        ASSERT_EQ(line.frame.sequence, expected + line.missing);
        ASSERT_EQ(line.frame.text, absl::StrCat(line.frame.sequence));
        expected = line.frame.sequence + 1;
      }
    };
    for (int step = 0; step < 200; ++step) {
      const int64_t what = rng.UniformInt(0, 9);
      if (what < 5) {
        const int first = static_cast<int>(writer.last_line()) + 1;
        writer.Append(OutputStream::kStdout, kTime,
                      Numbers(first, first + static_cast<int>(rng.UniformInt(0, 9))));
      } else if (what < 9) {
        read(static_cast<size_t>(rng.UniformInt(1, 2000)));
      } else {
        const std::vector<Segment> segments = folder.ListSegments();
        (void)folder.RemoveSegments(segments, CountDelivered(segments, expected - 1));
      }
      if (HasFatalFailure()) return;
    }
    read(1 << 20);
    EXPECT_EQ(expected, writer.last_line() + 1);
  }
}

}  // namespace
}  // namespace det::agent
