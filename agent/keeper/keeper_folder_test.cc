#include "agent/keeper/keeper_folder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "base/file.h"
#include <gtest/gtest.h>

namespace det::agent {
namespace {

const Launch kLaunch{.argv = {"sh", "-c", "echo \"a b\"\n", ""},
                     .env = {"A=\xFF", "B="},
                     .work_dir = "/w",
                     .marker = "DET_RUN_DIR=/r",
                     .slots = {0, 7},
                     .fraction = 0.3,
                     .spool_limit = 1 << 20,
                     .group = "/sys/fs/cgroup/agent/7-1.1.0",
                     .mounts = {{"/run 1", "/x"}, {"/y", "/z"}},
                     .memory = 1 << 30,
                     .boot = "6a1f 12"};

TEST(KeeperFolderTextTest, DecodesEncodedLaunch) {
  EXPECT_EQ(*DecodeLaunch(Encode(kLaunch)), kLaunch);
  EXPECT_EQ(*DecodeLaunch(Encode(Launch())), Launch());
}

TEST(KeeperFolderTextTest, DecodesEncodedExit) {
  const RecordedExit exit{.code = 3,
                          .signal = 9,
                          .start_failed = true,
                          .last_line = 1'000'000'000'000,
                          .message = "two\nlines"};
  EXPECT_EQ(*DecodeExit(Encode(exit)), exit);
  EXPECT_EQ(*DecodeExit(Encode(RecordedExit())), RecordedExit());
}

TEST(KeeperFolderTextTest, RejectsDamagedFiles) {
  const std::string launch = Encode(kLaunch);
  EXPECT_TRUE(absl::IsDataLoss(DecodeLaunch("").status()));
  EXPECT_TRUE(absl::IsDataLoss(DecodeLaunch(launch.substr(0, launch.size() - 1)).status()));
  EXPECT_TRUE(absl::IsDataLoss(DecodeLaunch(std::string("x1\0", 3)).status()));
  for (const char* text : {"", "1 2 0", "1 2 0 x\n", "nonsense\n"}) {
    EXPECT_TRUE(absl::IsDataLoss(DecodeExit(text).status())) << text;
  }
}

TEST(SegmentsTest, ParsesNames) {
  EXPECT_EQ(SegmentName(17), "output.17");
  EXPECT_EQ(ParseSegmentName("output.17"), 17);
  for (const char* name : {"output.", "output.0", "output.-1", "output.x", "exit", ""}) {
    EXPECT_EQ(ParseSegmentName(name), std::nullopt) << name;
  }
}

TEST(SegmentsTest, CountsOldestSegmentsOverLimit) {
  const std::vector<Segment> segments = {{1, 100}, {11, 100}, {21, 100}};
  EXPECT_EQ(CountOverLimit(segments, 300), 0u);
  EXPECT_EQ(CountOverLimit(segments, 299), 1u);
  EXPECT_EQ(CountOverLimit(segments, 150), 2u);
  EXPECT_EQ(CountOverLimit(segments, 0), 2u) << "the last segment is being written";
  EXPECT_EQ(CountOverLimit({}, 0), 0u);
  EXPECT_EQ(GetSegmentSize(int64_t{256} << 20), 1 << 20);
  EXPECT_EQ(GetSegmentSize(4000), 1000);
  EXPECT_EQ(GetSegmentSize(0), 1);
}

TEST(SegmentsTest, CountsDeliveredSegments) {
  const std::vector<Segment> segments = {{1, 100}, {11, 100}, {21, 100}};
  EXPECT_EQ(CountDelivered(segments, 0), 0u);
  EXPECT_EQ(CountDelivered(segments, 9), 0u);
  EXPECT_EQ(CountDelivered(segments, 10), 1u);
  EXPECT_EQ(CountDelivered(segments, 20), 2u);
  EXPECT_EQ(CountDelivered(segments, 1000), 2u);
  EXPECT_EQ(CountDelivered({}, 5), 0u);
}

class KeeperFolderTest : public testing::Test {
 protected:
  const base::TempDir dir_ = *base::TempDir::Create();
  const KeeperFolder folder_{dir_.path() + "/keep"};
};

// Runs in a separate process, because a record lock belongs to a process.
class OtherKeeper {
 public:
  explicit OtherKeeper(const KeeperFolder& folder) {
    std::array<int, 2> ready;
    EXPECT_EQ(::pipe(ready.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const auto claim = folder.TakeOver();
      (void)!::write(ready[1], claim.ok() ? "y" : "n", 1);
      ::pause();
    }
    char took_over = 0;
    EXPECT_EQ(::read(ready[0], &took_over, 1), 1);
    took_over_ = took_over == 'y';
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~OtherKeeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  bool took_over() const { return took_over_; }

 private:
  pid_t pid_ = 0;
  bool took_over_ = false;
};

TEST_F(KeeperFolderTest, ReturnsPidOfKeeper) {
  ASSERT_TRUE(folder_.Prepare(kLaunch).ok());
  EXPECT_EQ(folder_.GetKeeperPid(), 0);
  EXPECT_TRUE(absl::IsNotFound(folder_.ReadLaunch().status()));
  {
    const OtherKeeper keeper(folder_);
    EXPECT_TRUE(keeper.took_over());
    EXPECT_EQ(folder_.GetKeeperPid(), keeper.pid());
    EXPECT_EQ(folder_.GetKeeperPid(), keeper.pid()) << "reading does not change it";
    EXPECT_EQ(*folder_.ReadLaunch(), kLaunch);
    EXPECT_FALSE(folder_.CancelLaunch());
    EXPECT_TRUE(absl::IsAlreadyExists(folder_.TakeOver().status()));
  }
  EXPECT_EQ(folder_.GetKeeperPid(), 0);
  EXPECT_TRUE(absl::IsCancelled(folder_.TakeOver().status())) << "a task must not be started twice";
}

TEST_F(KeeperFolderTest, CannotTakeOver_WhenLaunchWasCancelled) {
  ASSERT_TRUE(folder_.Prepare(kLaunch).ok());
  EXPECT_TRUE(folder_.CancelLaunch());
  EXPECT_FALSE(folder_.CancelLaunch());
  EXPECT_FALSE(OtherKeeper(folder_).took_over());
}

TEST_F(KeeperFolderTest, HasNoTaskAndNoExitInitially) {
  ASSERT_TRUE(folder_.Prepare(kLaunch).ok());
  EXPECT_TRUE(absl::IsNotFound(folder_.ReadFirstProcess().status()));
  EXPECT_TRUE(absl::IsNotFound(folder_.ReadExit().status()));
  // An incomplete file of a keeper.
  ASSERT_TRUE(base::WriteFileAtomically(folder_.File("keeper"), "42 7").ok());
  EXPECT_TRUE(absl::IsNotFound(folder_.ReadFirstProcess().status()));
  ASSERT_TRUE(base::WriteFileAtomically(folder_.File("keeper"), "42 7 \n").ok());
  EXPECT_EQ(*folder_.ReadFirstProcess(), (FirstProcess{42, 7}));
}

TEST_F(KeeperFolderTest, StoresDelivered) {
  ASSERT_TRUE(folder_.Prepare(kLaunch).ok());
  EXPECT_EQ(folder_.ReadDelivered(), 0);
  ASSERT_TRUE(folder_.WriteDelivered(1'000'000).ok());
  ASSERT_TRUE(folder_.WriteDelivered(7).ok());
  EXPECT_EQ(folder_.ReadDelivered(), 7);
  ASSERT_TRUE(base::WriteFileAtomically(folder_.File("delivered"), "nonsense").ok());
  EXPECT_EQ(folder_.ReadDelivered(), 0);
}

}  // namespace
}  // namespace det::agent
