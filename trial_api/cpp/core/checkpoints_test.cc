// Checkpoints of several ranks in a directory: whole or absent.
#include "trial_api/cpp/core/checkpoints.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
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

  // Every rank saves, then `check` looks at the result: a UUID or the message of an error.
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
          MakeCheckpoints(communicator.get(), storage::MakeSharedFs(store_, "test"), "", registrar);
      std::string uuid, error;
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

TEST_F(CheckpointsTest, FilesOfAllRanksAreThere) {
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

TEST_F(CheckpointsTest, FailureOfOneRankFailsAll) {
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

TEST_F(CheckpointsTest, SameNameOnTwoRanksIsRefused) {
  OnRanks(
      2, [](const Ranks&, const std::string& dir) { Write(dir + "/model.pt", "x"); },
      [](Checkpoints&, const std::string&, const std::string& error) {
        return error.find("'model.pt' of rank 1") != std::string::npos;
      });
  EXPECT_EQ(CountEntries(store_), 0u);
}

TEST_F(CheckpointsTest, RefusedRegistrationRemovesTheFiles) {
  OnRanks(
      1, [](const Ranks&, const std::string& dir) { Write(dir + "/model.pt", "x"); },
      [](Checkpoints&, const std::string&, const std::string& error) {
        return error.find("not now") != std::string::npos;
      },
      [](const CheckpointReport&) { throw Error("not now"); });
  EXPECT_EQ(CountEntries(store_), 0u);
}

// What Open says after `damage`.
class DamageTest : public CheckpointsTest {
 protected:
  std::string After(const std::function<void(const std::string& dir)>& damage) {
    const auto communicator = MakeSingleCommunicator();
    const auto checkpoints =
        MakeCheckpoints(communicator.get(), storage::MakeSharedFs(store_, "test"), "",
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

TEST_F(DamageTest, IsNamed) {
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

TEST_F(CheckpointsTest, LeftoversOfTheSameOwnerAreRemoved) {
  const std::string uuid = "0b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60";
  storage::MakeSharedFs(store_, "test")->BeginWrite(uuid, 0);
  storage::MakeSharedFs(store_, "test-2")->BeginWrite(uuid, 0);
  const auto communicator = MakeSingleCommunicator();
  const auto checkpoints =
      MakeCheckpoints(communicator.get(), storage::MakeSharedFs(store_, "test"), "", nullptr);
  EXPECT_EQ(CountEntries(store_), 1u);
}

TEST_F(CheckpointsTest, NameThatIsNoUuidIsRefused) {
  EXPECT_THROW(storage::MakeSharedFs(store_, "test")->Open("../etc"), Error);
}

}  // namespace
}  // namespace det::core
