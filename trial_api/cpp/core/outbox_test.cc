#include "trial_api/cpp/core/outbox.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/rng.h"
#include "gtest/gtest.h"

namespace det::core {
namespace {

namespace fs = std::filesystem;
using Records = std::vector<std::string>;

class OutboxTest : public testing::Test {
 protected:
  OutboxTest() { options_.dir = dir_.path() + "/outbox/7/0"; }

  std::unique_ptr<Outbox> Open() { return Outbox::Open(options_); }
  static Records All(const Outbox& outbox) { return outbox.Front(1'000'000, size_t{1} << 30); }
  Records Files(const std::string& prefix) const {
    Records names;
    for (const auto& entry : fs::directory_iterator(options_.dir)) {
      const std::string name = entry.path().filename().string();
      if (name.rfind(prefix, 0) == 0) names.push_back(name);
    }
    return names;
  }

  const base::TempDir dir_ = *base::TempDir::Create();
  Outbox::Options options_;
};

TEST_F(OutboxTest, KeepsOrderAndRemovesTakenRecords) {
  const auto outbox = Open();
  for (const char* record : {"a", "", "ccc"}) EXPECT_TRUE(outbox->Add(record));
  EXPECT_EQ(outbox->size(), 3);
  EXPECT_EQ(outbox->Front(2, 100), (Records{"a", ""}));
  EXPECT_EQ(outbox->Front(3, 1), (Records{"a"}));
  outbox->RemoveFront(2);
  EXPECT_EQ(All(*outbox), Records{"ccc"});
  outbox->RemoveFront(1);
  EXPECT_TRUE(outbox->empty());
  EXPECT_EQ(All(*outbox), Records());
}

TEST_F(OutboxTest, IsLockedForOneProcess) {
  const auto outbox = Open();
  EXPECT_EQ(Open(), nullptr);
}

TEST_F(OutboxTest, RemovesDirectory_WhenEmpty) {
  auto outbox = Open();
  outbox->Add("a");
  outbox->RemoveFront(1);
  outbox.reset();
  EXPECT_FALSE(fs::exists(options_.dir));
}

TEST_F(OutboxTest, SurvivesAKilledProcess) {
  options_.segment = 200;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto outbox = Open();
    for (int i = 0; i < 100; ++i) outbox->Add("record " + std::to_string(i));
    outbox->RemoveFront(33);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto outbox = Open();
  ASSERT_EQ(outbox->size(), 67);
  outbox->Add("new");
  const Records records = All(*outbox);
  for (int i = 33; i < 100; ++i) EXPECT_EQ(records[i - 33], "record " + std::to_string(i));
  EXPECT_EQ(records.back(), "new");
}

TEST_F(OutboxTest, IgnoresIncompleteLastRecord) {
  for (const size_t torn : {1, 7, 8, 9, 12}) {
    {
      const auto outbox = Open();
      outbox->Add("first");
      outbox->Add("second");
    }
    const std::string path = options_.dir + "/" + Files("segment.").front();
    fs::resize_file(path, fs::file_size(path) - torn);
    const auto outbox = Open();
    EXPECT_EQ(All(*outbox), Records{"first"}) << torn;
    outbox->Add("third");
    EXPECT_EQ(All(*outbox), (Records{"first", "third"})) << torn;
    outbox->Clear();
  }
}

TEST_F(OutboxTest, LosesOnlyRestOfDamagedSegment) {
  options_.segment = 1;  // one record each
  {
    const auto outbox = Open();
    for (const char* record : {"first", "second", "third"}) outbox->Add(record);
  }
  std::fstream file(options_.dir + "/segment.2", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(10).put('X');
  file.close();
  EXPECT_EQ(All(*Open()), (Records{"first", "third"}));
}

TEST_F(OutboxTest, RejectsRecordsAtLimitUntilSomeAreRemoved) {
  options_.limit = 1'000;
  options_.segment = 250;
  const auto outbox = Open();
  const std::string record(92, 'x');  // 100 bytes on disk
  int added = 0;
  while (outbox->Add(record)) ++added;
  EXPECT_EQ(added, 10);
  EXPECT_EQ(outbox->bytes(), 1'000);
  outbox->RemoveFront(3);  // a whole segment
  EXPECT_TRUE(outbox->Add(record));
  EXPECT_EQ(outbox->size(), 8);
}

TEST_F(OutboxTest, AcceptsSingleRecordLargerThanLimit) {
  options_.limit = 10;
  const auto outbox = Open();
  EXPECT_TRUE(outbox->Add(std::string(100, 'x')));
  EXPECT_FALSE(outbox->Add("y"));
  outbox->RemoveFront(1);
  EXPECT_TRUE(outbox->Add("y"));
}

// Simulates a full disk: this process cannot write files larger than some bytes.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_ = {};
};

TEST_F(OutboxTest, KeepsRecordsInMemory_WhenDiskIsFull) {
  options_.memory = 3;
  const auto outbox = Open();
  Records expected;
  {
    const FullDisk full(50);  // the sixth record of ten bytes fits in part
    for (const char* record : {"aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh"}) {
      ASSERT_TRUE(outbox->Add(record));
      expected.push_back(record);
    }
    EXPECT_FALSE(outbox->Add("ii"));
    EXPECT_EQ(All(*outbox), expected);
    outbox->RemoveFront(1);
    EXPECT_FALSE(outbox->Add("ii")) << "the memory is still full";
  }
  // There is space again: records in memory are written before new ones.
  EXPECT_TRUE(outbox->Add("ii"));
  expected.erase(expected.begin());
  expected.push_back("ii");
  EXPECT_EQ(All(*outbox), expected);
  EXPECT_EQ(outbox->bytes(), 90);
  outbox->RemoveFront(8);
  EXPECT_TRUE(outbox->empty());
}

TEST_F(OutboxTest, ReturnsRecordsFromMemory) {
  const FullDisk full(10);
  const auto outbox = Open();
  for (const char* record : {"aa", "bb", "cc"}) ASSERT_TRUE(outbox->Add(record));
  outbox->RemoveFront(2);
  EXPECT_EQ(All(*outbox), Records{"cc"});
  outbox->RemoveFront(1);
  EXPECT_TRUE(outbox->empty());
}

// The outbox behaves as a queue in random histories.
TEST_F(OutboxTest, BehavesAsQueue_ForRandomHistories) {
  const uint64_t seed = std::getenv("SEED") ? std::strtoull(std::getenv("SEED"), nullptr, 10)
                                            : static_cast<uint64_t>(::getpid());
  SCOPED_TRACE("SEED=" + std::to_string(seed));
  base::Rng rng(seed);
  options_.segment = rng.UniformInt(1, 300);
  options_.limit = rng.UniformInt(50, 3'000);
  auto outbox = Open();
  std::deque<std::string> model;
  for (int i = 0; i < 3'000; ++i) {
    const int64_t dice = rng.UniformInt(0, 99);
    if (dice < 60) {
      const std::string record =
          std::to_string(i) + std::string(static_cast<size_t>(rng.UniformInt(0, 80)), 'x');
      if (outbox->Add(record)) model.push_back(record);
    } else if (dice < 95) {
      const Records front = outbox->Front(static_cast<size_t>(rng.UniformInt(1, 9)), 400);
      ASSERT_EQ(front,
                Records(model.begin(), model.begin() + static_cast<ptrdiff_t>(front.size())));
      ASSERT_EQ(front.empty(), model.empty());
      const auto taken = static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(front.size())));
      outbox->RemoveFront(taken);
      model.erase(model.begin(), model.begin() + static_cast<ptrdiff_t>(taken));
    } else {
      outbox.reset();
      outbox = Open();
    }
    ASSERT_EQ(outbox->size(), static_cast<int64_t>(model.size()));
    ASSERT_LE(outbox->bytes(), options_.limit + 100);
  }
  EXPECT_EQ(All(*outbox), Records(model.begin(), model.end()));
}

}  // namespace
}  // namespace det::core
