// The tests of SearchMethodContract; linked into each test that instantiates it.
#include "master/searcher/search_method_contract.h"

namespace det::searcher {

TEST_P(SearchMethodContract, TerminatesWithinItsBudgetInAHostileWorld) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Searcher searcher = Make();
    HostileWorld world(GetParam(), seed);
    world.Play(searcher);
    if (HasFailure()) return;
  }
}

TEST_P(SearchMethodContract, TerminatesWhenEveryTrialEndsTheSameWay) {
  for (const int way : {0, 1, 2, 3}) {
    SCOPED_TRACE(way);
    Searcher searcher = Make();
    HostileWorld world(GetParam(), 7);
    world.failed = way == 0 ? 100 : 0;
    world.invalid = way == 1 ? 100 : 0;
    world.canceled = way == 2 ? 100 : 0;
    world.Play(searcher);
    if (HasFailure()) return;
    EXPECT_EQ(searcher.failed(), way == 0 || way == 1);
    EXPECT_EQ(searcher.canceled(), way == 2);
  }
}

TEST_P(SearchMethodContract, SameSeedAndEventsGiveTheSameSearch) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Searcher one = Make();
    Searcher two = Make();
    HostileWorld world(GetParam(), seed);
    world.Play(one);
    two.Start();
    for (const Step& step : world.history) ASSERT_EQ(two.Handle(step.event), step.operations);
    EXPECT_EQ(one.Snapshot(), two.Snapshot());
  }
}

TEST_P(SearchMethodContract, RestoreAtEveryPrefixContinuesIdentically) {
  for (uint64_t seed = 0; seed < kSeeds / 10; ++seed) {
    SCOPED_TRACE(seed);
    Searcher original = Make();
    HostileWorld world(GetParam(), seed);
    world.Play(original);
    for (size_t from = 0; from < world.snapshots.size(); ++from) {
      // Through text, as the store keeps it.
      const auto snapshot = model::Value::FromJson(world.snapshots[from].ToJson());
      ASSERT_TRUE(snapshot.ok()) << snapshot.status();
      auto restored = Searcher::Restore(GetParam().config, *snapshot);
      ASSERT_TRUE(restored.ok()) << restored.status();
      ASSERT_EQ(restored->Snapshot(), world.snapshots[from]) << "prefix " << from;
      for (size_t i = from; i < world.history.size(); ++i) {
        ASSERT_EQ(restored->Handle(world.history[i].event), world.history[i].operations)
            << "prefix " << from << ", step " << i;
      }
      EXPECT_EQ(restored->Snapshot(), original.Snapshot());
      EXPECT_EQ(restored->failed(), original.failed());
    }
  }
}

TEST_P(SearchMethodContract, RefusesWhatIsNoSnapshotOfIts) {
  const model::Value good = Make().Snapshot();
  EXPECT_FALSE(Searcher::Restore(GetParam().config, model::Value()).ok());
  for (const auto& [name, value] : *good.AsObject()) {
    model::Value bad = good;
    bad.MutableObject()->erase(name);
    EXPECT_FALSE(Searcher::Restore(GetParam().config, bad).ok()) << "without " << name;
  }
  model::Value bad = good;
  (*bad.MutableObject())["method"] = "not its own";
  EXPECT_FALSE(Searcher::Restore(GetParam().config, bad).ok());
}

TEST_P(SearchMethodContract, ProgressStaysBetweenZeroAndOne) {
  Searcher searcher = Make();
  EXPECT_EQ(searcher.Progress(), 0);
  for (const Operation& operation : searcher.Start()) {
    const auto* create = std::get_if<CreateTrial>(&operation);
    if (create == nullptr) continue;
    for (const double progress : {0.5, -1.0, 7.0, std::nan("")}) {
      searcher.SetTrialProgress(create->request, progress);
      EXPECT_GE(searcher.Progress(), 0);
      EXPECT_LE(searcher.Progress(), 1);
    }
  }
}

}  // namespace det::searcher
