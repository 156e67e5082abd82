#include "agent/keeper/folder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/file.h"
#include <gtest/gtest.h>

namespace det::agent {
namespace {

const Launch kLaunch{.argv = {"sh", "-c", "echo \"a b\"\n", ""},
                     .env = {"A=\xFF", "B="},
                     .work_dir = "/w",
                     .mark = "DET_RUN_DIR=/r",
                     .slots = {0, 7},
                     .fraction = 0.3,
                     .spool_limit = 1 << 20,
                     .group = "/sys/fs/cgroup/agent/7-1.1.0",
                     .mounts = {{"/run 1", "/x"}, {"/y", "/z"}},
                     .memory = 1 << 30};

TEST(KeepFolderText, LaunchComesBackAsItWas) {
  EXPECT_EQ(*DecodeLaunch(Encode(kLaunch)), kLaunch);
  EXPECT_EQ(*DecodeLaunch(Encode(Launch())), Launch());
}

TEST(KeepFolderText, ExitComesBackAsItWas) {
  const KeptExit exit{.code = 3,
                      .signal = 9,
                      .start_failed = true,
                      .last_line = 1'000'000'000'000,
                      .message = "two\nlines"};
  EXPECT_EQ(*DecodeExit(Encode(exit)), exit);
  EXPECT_EQ(*DecodeExit(Encode(KeptExit())), KeptExit());
}

TEST(KeepFolderText, DamageIsAnError) {
  const std::string launch = Encode(kLaunch);
  EXPECT_TRUE(absl::IsDataLoss(DecodeLaunch("").status()));
  EXPECT_TRUE(absl::IsDataLoss(DecodeLaunch(launch.substr(0, launch.size() - 1)).status()));
  EXPECT_TRUE(absl::IsDataLoss(DecodeLaunch(std::string("x1\0", 3)).status()));
  for (const char* text : {"", "1 2 0", "1 2 0 x\n", "nonsense\n"}) {
    EXPECT_TRUE(absl::IsDataLoss(DecodeExit(text).status())) << text;
  }
}

TEST(Segments, Names) {
  EXPECT_EQ(SegmentName(17), "output.17");
  EXPECT_EQ(ParseSegmentName("output.17"), 17);
  for (const char* name : {"output.", "output.0", "output.-1", "output.x", "exit", ""}) {
    EXPECT_EQ(ParseSegmentName(name), std::nullopt) << name;
  }
}

TEST(Segments, TheOldestGoUntilTheRestIsWithinTheLimit) {
  const std::vector<Segment> segments = {{1, 100}, {11, 100}, {21, 100}};
  EXPECT_EQ(OverLimit(segments, 300), 0u);
  EXPECT_EQ(OverLimit(segments, 299), 1u);
  EXPECT_EQ(OverLimit(segments, 150), 2u);
  EXPECT_EQ(OverLimit(segments, 0), 2u) << "the last is being written";
  EXPECT_EQ(OverLimit({}, 0), 0u);
  EXPECT_EQ(SegmentBytes(int64_t{256} << 20), 1 << 20);
  EXPECT_EQ(SegmentBytes(4000), 1000);
  EXPECT_EQ(SegmentBytes(0), 1);
}

TEST(Segments, WhatIsDeliveredGoes) {
  const std::vector<Segment> segments = {{1, 100}, {11, 100}, {21, 100}};
  EXPECT_EQ(UpTo(segments, 0), 0u);
  EXPECT_EQ(UpTo(segments, 9), 0u);
  EXPECT_EQ(UpTo(segments, 10), 1u);
  EXPECT_EQ(UpTo(segments, 20), 2u);
  EXPECT_EQ(UpTo(segments, 1000), 2u);
  EXPECT_EQ(UpTo({}, 5), 0u);
}

class KeepFolderTest : public testing::Test {
 protected:
  const base::TempDir dir_ = *base::TempDir::Create();
  const KeepFolder folder_{dir_.path() + "/keep"};
};

// In a process of its own, as a lock is a process'.
class OtherKeeper {
 public:
  explicit OtherKeeper(const KeepFolder& folder) {
    std::array<int, 2> ready;
    EXPECT_EQ(::pipe(ready.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const auto claim = folder.TakeOver();
      (void)!::write(ready[1], claim.ok() ? "y" : "n", 1);
      ::pause();
    }
    char took = 0;
    EXPECT_EQ(::read(ready[0], &took, 1), 1);
    took_ = took == 'y';
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~OtherKeeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  bool took() const { return took_; }

 private:
  pid_t pid_ = 0;
  bool took_ = false;
};

TEST_F(KeepFolderTest, TheKernelKnowsItsKeeper) {
  ASSERT_TRUE(folder_.Prepare(kLaunch).ok());
  EXPECT_EQ(folder_.Keeper(), 0);
  EXPECT_TRUE(absl::IsNotFound(folder_.Launched().status()));
  {
    const OtherKeeper keeper(folder_);
    EXPECT_TRUE(keeper.took());
    EXPECT_EQ(folder_.Keeper(), keeper.pid());
    EXPECT_EQ(folder_.Keeper(), keeper.pid()) << "looking does not change it";
    EXPECT_EQ(*folder_.Launched(), kLaunch);
    EXPECT_FALSE(folder_.TakeBack());
    EXPECT_TRUE(absl::IsAlreadyExists(folder_.TakeOver().status()));
  }
  EXPECT_EQ(folder_.Keeper(), 0);
  EXPECT_TRUE(absl::IsCancelled(folder_.TakeOver().status())) << "a task is never started twice";
}

TEST_F(KeepFolderTest, ALaunchThatWasTakenBackIsNotTaken) {
  ASSERT_TRUE(folder_.Prepare(kLaunch).ok());
  EXPECT_TRUE(folder_.TakeBack());
  EXPECT_FALSE(folder_.TakeBack());
  EXPECT_FALSE(OtherKeeper(folder_).took());
}

TEST_F(KeepFolderTest, NoTaskAndNoExitAtFirst) {
  ASSERT_TRUE(folder_.Prepare(kLaunch).ok());
  EXPECT_TRUE(absl::IsNotFound(folder_.Task().status()));
  EXPECT_TRUE(absl::IsNotFound(folder_.Exit().status()));
  // Half of what a keeper writes.
  ASSERT_TRUE(base::WriteFileAtomically(folder_.File("keeper"), "42 7").ok());
  EXPECT_TRUE(absl::IsNotFound(folder_.Task().status()));
  ASSERT_TRUE(base::WriteFileAtomically(folder_.File("keeper"), "42 7 \n").ok());
  EXPECT_EQ(*folder_.Task(), (FirstProcess{42, 7}));
}

TEST_F(KeepFolderTest, Delivered) {
  ASSERT_TRUE(folder_.Prepare(kLaunch).ok());
  EXPECT_EQ(folder_.Delivered(), 0);
  ASSERT_TRUE(folder_.SetDelivered(1'000'000).ok());
  ASSERT_TRUE(folder_.SetDelivered(7).ok());
  EXPECT_EQ(folder_.Delivered(), 7);
  ASSERT_TRUE(base::WriteFileAtomically(folder_.File("delivered"), "nonsense").ok());
  EXPECT_EQ(folder_.Delivered(), 0);
}

}  // namespace
}  // namespace det::agent
