// Tests of checkpoints that several ranks write to a directory.
#include "trial_api/cpp/core/checkpoints.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "gtest/gtest.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/exchange.h"
#include "trial_api/cpp/core/gloo_communicator.h"
#include "trial_api/cpp/core/single_communicator.h"
#include "trial_api/cpp/core/testing.h"

namespace det::core {
namespace {

namespace fs = std::filesystem;

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

size_t CountEntries(const std::string& dir) {
  if (!fs::exists(dir)) return 0;
  return static_cast<size_t>(std::distance(fs::directory_iterator(dir), fs::directory_iterator()));
}

class CheckpointsTest : public testing::Test {
 protected:
  CheckpointsTest() : dir_(*base::TempDir::Create()), store_(dir_.path() + "/store") {}

  // Every rank saves, then `check` examines the result: a UUID or an error message.
  void OnRanks(
      int size, const std::function<void(const Ranks&, const std::string& dir)>& write,
      const std::function<bool(Checkpoints&, const std::string& uuid, const std::string& error)>&
          check,
      Registrar registrar = [](const CheckpointReport&) {}) {
    const auto body = [&](const Ranks& ranks) {
      const auto exchange = MakeDirectoryExchange(dir_.path(), std::chrono::seconds(30));
      const auto communicator =
          size == 1 ? MakeSingleCommunicator() : ConnectGloo(ranks, "127.0.0.1", *exchange);
      const auto checkpoints =
          MakeCheckpoints(communicator.get(), storage::MakeSharedFs(store_, "test"), {}, registrar);
      std::string uuid;
      std::string error;
      try {
        uuid = checkpoints->Save(5, "{}", [&](const std::string& dir) { write(ranks, dir); });
      } catch (const Error& e) {
        error = e.what();
      }
      if (check(*checkpoints, uuid, error)) return 0;
      std::fprintf(stderr, "rank %d: '%s' '%s'\n", ranks.rank, uuid.c_str(), error.c_str());
      return 1;
    };
    EXPECT_EQ(RunRanks(size, body), std::vector<int>(size, 0));
  }

  const base::TempDir dir_;
  const std::string store_;
};

TEST_F(CheckpointsTest, ContainsFilesOfAllRanks) {
  OnRanks(
      3,
      [](const Ranks& ranks, const std::string& dir) {
        fs::create_directories(dir + "/rng");
        Write(dir + "/rng/" + std::to_string(ranks.rank), "state");
        if (ranks.is_chief()) Write(dir + "/model.pt", "weights");
      },
      [](Checkpoints& checkpoints, const std::string& uuid, const std::string&) {
        const std::string dir = checkpoints.Open(uuid);
        return *base::ReadFile(dir + "/model.pt") == "weights" &&
               *base::ReadFile(dir + "/rng/2") == "state" && fs::exists(dir + "/metadata.json") &&
               fs::exists(dir + "/manifest.json");
      });
  EXPECT_EQ(CountEntries(store_), 1u);
}

TEST_F(CheckpointsTest, FailsOnAllRanks_WhenOneRankFails) {
  OnRanks(
      2,
      [](const Ranks& ranks, const std::string& dir) {
        Write(dir + "/" + std::to_string(ranks.rank), "x");
        if (ranks.rank == 1) throw Error("disk is full");
      },
      [](Checkpoints&, const std::string&, const std::string& error) {
        return error.find("rank 1 failed: disk is full") != std::string::npos;
      });
  EXPECT_EQ(CountEntries(store_), 0u);
}

TEST_F(CheckpointsTest, RejectsSameFileNameOnTwoRanks) {
  OnRanks(
      2, [](const Ranks&, const std::string& dir) { Write(dir + "/model.pt", "x"); },
      [](Checkpoints&, const std::string&, const std::string& error) {
        return error.find("'model.pt' of rank 1") != std::string::npos;
      });
  EXPECT_EQ(CountEntries(store_), 0u);
}

TEST_F(CheckpointsTest, RemovesFiles_WhenRegistrationIsRejected) {
  OnRanks(
      1, [](const Ranks&, const std::string& dir) { Write(dir + "/model.pt", "x"); },
      [](Checkpoints&, const std::string&, const std::string& error) {
        return error.find("not now") != std::string::npos;
      },
      [](const CheckpointReport&) { throw Error("not now"); });
  EXPECT_EQ(CountEntries(store_), 0u);
}

// Returns the error of Open after `damage`.
class DamageTest : public CheckpointsTest {
 protected:
  std::string After(const std::function<void(const std::string& dir)>& damage) {
    const auto communicator = MakeSingleCommunicator();
    const auto checkpoints =
        MakeCheckpoints(communicator.get(), storage::MakeSharedFs(store_, "test"), {},
                        [](const CheckpointReport&) {});
    const std::string uuid = checkpoints->Save(
        1, "{}", [](const std::string& dir) { Write(dir + "/model.pt", "weights"); });
    damage(store_ + "/" + uuid);
    try {
      checkpoints->Open(uuid);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }
};

TEST_F(DamageTest, ErrorNamesDamagedFile) {
  const auto contains = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  EXPECT_EQ(After([](const std::string&) {}), "no error");
  contains(After([](auto& dir) { Write(dir + "/model.pt", "weighty"); }), "model.pt is damaged");
  contains(After([](auto& dir) { Write(dir + "/model.pt", "w"); }), "model.pt is damaged");
  contains(After([](auto& dir) { fs::remove(dir + "/model.pt"); }), "model.pt is missing");
  contains(After([](auto& dir) { Write(dir + "/manifest.json", "{"); }),
           "manifest.json is damaged");
  contains(After([](auto& dir) { fs::remove(dir + "/manifest.json"); }), "is not complete");
}

// Runs `body` on each rank; its result is whether all is well.
class ConcurrentSaveTest : public CheckpointsTest {
 protected:
  struct Rank {
    const Ranks& ranks;
    Communicator& communicator;
    std::unique_ptr<Checkpoints>& checkpoints;
  };

  std::vector<int> Run(int size, const std::function<bool(Rank)>& body, StartPoint start = {}) {
    return RunRanks(size, [&](const Ranks& ranks) {
      const std::string meeting = dir_.path() + "/meeting" + std::to_string(runs_);
      (void)base::MakeDirs(meeting);
      const auto exchange = MakeDirectoryExchange(meeting, std::chrono::seconds(30));
      const auto communicator =
          size == 1 ? MakeSingleCommunicator() : ConnectGloo(ranks, "127.0.0.1", *exchange);
      auto checkpoints = MakeCheckpoints(communicator.get(), storage::MakeSharedFs(store_, "test"),
                                         start, [this](const CheckpointReport& report) {
                                           if (report.damage.empty()) return;
                                           std::ofstream(dir_.path() + "/reported", std::ios::app)
                                               << report.uuid << ' ' << report.instead << ' '
                                               << report.steps_completed << ' ' << report.damage
                                               << '\n';
                                         });
      return body({ranks, *communicator, checkpoints}) ? 0 : 1;
    });
  }
  std::vector<int> Next(int size, const std::function<bool(Rank)>& body, StartPoint start = {}) {
    ++runs_;
    return Run(size, body, std::move(start));
  }

  int runs_ = 0;
};

TEST_F(ConcurrentSaveTest, TrainsWhileCheckpointIsWritten) {
  const auto ends = Next(2, [](Rank rank) {
    std::promise<void> trained;
    auto training = trained.get_future().share();
    std::atomic<int> writing = 0, most = 0;
    for (int step = 1; step <= 2; ++step) {
      rank.checkpoints->StartSave(step, "{}", [&, training](const std::string& dir) {
        most = std::max<int>(most, ++writing);
        training.wait();
        Write(dir + "/rank" + std::to_string(rank.ranks.rank), "x");
        --writing;
      });
      // The training's channel is free meanwhile.
      float one = 1;
      rank.communicator.AllReduceSum(&one, 1, DType::kFloat32);
      if (one != 2) return false;
      if (step == 1) trained.set_value();
    }
    const std::string uuid = rank.checkpoints->FinishSave();
    return most == 1 && !uuid.empty() && rank.checkpoints->FinishSave().empty() &&
           fs::exists(rank.checkpoints->Open(uuid) + "/rank1");
  });
  EXPECT_EQ(ends, (std::vector<int>{0, 0}));
  EXPECT_EQ(CountEntries(store_), 2u);
}

TEST_F(ConcurrentSaveTest, ReportsFailureAtNextSave) {
  const auto ends = Next(2, [](Rank rank) {
    rank.checkpoints->StartSave(1, "{}", [&](const std::string&) {
      if (rank.ranks.rank == 1) throw Error("disk is full");
    });
    try {
      rank.checkpoints->StartSave(2, "{}", [](const std::string&) {});
    } catch (const Error& e) {
      return std::string(e.what()) == "checkpoint at 1 steps: rank 1 failed: disk is full";
    }
    return false;
  });
  EXPECT_EQ(ends, (std::vector<int>{0, 0}));
  EXPECT_EQ(CountEntries(store_), 0u);
}

TEST_F(ConcurrentSaveTest, FailsOnOtherRanks_WhenRankIsKilledWhileSaving) {
  const auto ends = Next(3, [](Rank rank) {
    rank.checkpoints->StartSave(1, "{}", [&](const std::string& dir) {
      if (rank.ranks.rank == 1) ::kill(::getpid(), SIGKILL);
      Write(dir + "/rank" + std::to_string(rank.ranks.rank), "x");
    });
    try {
      rank.checkpoints->FinishSave();
    } catch (const PeerGone&) {
      return true;
    }
    return false;
  });
  EXPECT_EQ(ends, (std::vector<int>{0, -SIGKILL, 0}));
  // The remaining files are not a checkpoint, and the next attempt removes them.
  Next(1, [](Rank) { return true; });
  EXPECT_EQ(CountEntries(store_), 0u);
}

TEST_F(ConcurrentSaveTest, DestructorDoesNotWaitForPeers) {
  const std::string given_up = dir_.path() + "/given_up";
  const auto ends = Next(2, [&](Rank rank) {
    rank.checkpoints->Save(1, "{}", [](const std::string&) {});
    if (rank.ranks.is_chief()) {
      rank.checkpoints->StartSave(2, "{}", [](const std::string&) {});
      rank.checkpoints.reset();  // The peer does not take part.
      Write(given_up, "");
    }
    while (!fs::exists(given_up)) std::this_thread::yield();
    return true;
  });
  EXPECT_EQ(ends, (std::vector<int>{0, 0}));
}

// Three checkpoints, after 1, 2 and 3 steps, and the next attempt.
class LatestTest : public ConcurrentSaveTest {
 protected:
  LatestTest() {
    const std::string list = dir_.path() + "/uuids";
    Next(1, [&](Rank rank) {
      for (int step : {1, 2, 3}) {
        const std::string uuid = rank.checkpoints->Save(step, "{}", [&](const std::string& dir) {
          Write(dir + "/model.pt", "weights " + std::to_string(step));
        });
        std::ofstream(list, std::ios::app) << uuid << "\n";
      }
      return true;
    });
    std::ifstream file(list);
    for (std::string uuid; file >> uuid;) uuids_.push_back(uuid);
  }

  void Damage(int step) {
    std::fstream file(store_ + "/" + uuids_[step - 1] + "/model.pt",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(3).put('X');
  }
  // Returns the result of a run of two ranks that should start after 3 steps: the model, or an
  // error.
  std::string Opened(std::optional<int64_t> steps = 3) {
    const auto ends =
        Next(2,
             [&](Rank rank) {
               std::string got;
               try {
                 got = *base::ReadFile(rank.checkpoints->OpenLatest()->dir + "/model.pt");
               } catch (const Error& e) {
                 got = e.what();
               }
               Write(dir_.path() + "/got" + std::to_string(rank.ranks.rank), got);
               return true;
             },
             {.uuid = uuids_.back(), .steps = steps});
    EXPECT_EQ(ends, (std::vector<int>{0, 0}));
    EXPECT_EQ(*base::ReadFile(dir_.path() + "/got0"), *base::ReadFile(dir_.path() + "/got1"));
    return *base::ReadFile(dir_.path() + "/got0");
  }

  std::vector<std::string> uuids_;
};

TEST_F(LatestTest, OpensRequestedCheckpoint) {
  ASSERT_EQ(uuids_.size(), 3u);
  EXPECT_EQ(Opened(), "weights 3");
}

TEST_F(LatestTest, OpensNewestIntactCheckpoint_WhenDamaged) {
  Damage(3);
  EXPECT_EQ(Opened(), "weights 2");
  Damage(2);
  EXPECT_EQ(Opened(), "weights 1");
  Damage(1);
  const std::string error = Opened();
  EXPECT_NE(error.find(uuids_.back() + ": file"), std::string::npos) << error;
  EXPECT_NE(error.find("is damaged"), std::string::npos) << error;
}

TEST_F(LatestTest, ReportsDamage_WhenIntactCheckpointIsFound) {
  const std::string reported = dir_.path() + "/reported";
  EXPECT_EQ(Opened(), "weights 3");
  EXPECT_FALSE(fs::exists(reported));
  Damage(3);
  Damage(2);
  EXPECT_EQ(Opened(), "weights 1");
  std::ifstream file(reported);
  std::string uuid;
  std::string instead;
  std::string damage;
  int steps = 0;
  for (const int step : {3, 2}) {
    file >> uuid >> instead >> steps;
    std::getline(file, damage);
    EXPECT_EQ(uuid, uuids_[step - 1]);
    EXPECT_EQ(instead, uuids_[0]);
    EXPECT_EQ(steps, 1);
    EXPECT_NE(damage.find("model.pt is damaged"), std::string::npos) << damage;
  }
  EXPECT_FALSE(std::getline(file, damage)) << damage;
  // Without an intact checkpoint, the storage may be unavailable.
  fs::remove(reported);
  fs::remove_all(store_);
  EXPECT_NE(Opened().find("is not complete"), std::string::npos);
  EXPECT_FALSE(fs::exists(reported));
}

TEST_F(LatestTest, TreatsMissingCheckpointAsDamaged) {
  fs::remove_all(store_ + "/" + uuids_.back());
  EXPECT_EQ(Opened(), "weights 2");
}

TEST_F(LatestTest, IgnoresLaterCheckpointsAndThoseOfOthers) {
  Damage(3);
  EXPECT_EQ(Opened(1), "weights 1");
  const auto single = MakeSingleCommunicator();
  MakeCheckpoints(single.get(), storage::MakeSharedFs(store_, "other"), {},
                  [](const CheckpointReport&) {})
      ->Save(2, "{}", [](const std::string& dir) { Write(dir + "/model.pt", "foreign"); });
  Damage(2);
  EXPECT_EQ(Opened(), "weights 1");
}

TEST_F(LatestTest, DoesNotReplaceCheckpointOfWarmStart) {
  Damage(3);
  EXPECT_NE(Opened(std::nullopt).find("is damaged"), std::string::npos);
}

TEST_F(CheckpointsTest, RemovesLeftoversOfSameOwner) {
  const std::string uuid = "0b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60";
  storage::MakeSharedFs(store_, "test")->BeginWrite(uuid, 0);
  storage::MakeSharedFs(store_, "test-2")->BeginWrite(uuid, 0);
  const auto communicator = MakeSingleCommunicator();
  const auto checkpoints =
      MakeCheckpoints(communicator.get(), storage::MakeSharedFs(store_, "test"), {}, nullptr);
  EXPECT_EQ(CountEntries(store_), 1u);
}

TEST_F(CheckpointsTest, RejectsNameThatIsNotUuid) {
  EXPECT_THROW(storage::MakeSharedFs(store_, "test")->Open("../etc"), Error);
}

}  // namespace
}  // namespace det::core
