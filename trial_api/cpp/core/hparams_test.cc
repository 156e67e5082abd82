#include "trial_api/cpp/core/hparams.h"

#include <string>

#include "gtest/gtest.h"
#include "trial_api/cpp/core/error.h"

namespace det {
namespace {

template <class T>
std::string GetError(const Hparams& hparams, const std::string& name) {
  try {
    hparams.Get<T>(name);
  } catch (const InvalidHp& e) {
    return e.what();
  }
  return "no error";
}

TEST(HparamsTest, ReadsEachType) {
  const Hparams hparams(R"({"b": true, "i": 7, "big": 3000000000, "d": 0.5, "s": "adam"})");
  EXPECT_TRUE(hparams.Get<bool>("b"));
  EXPECT_EQ(hparams.Get<int>("i"), 7);
  EXPECT_EQ(hparams.Get<int64_t>("big"), 3'000'000'000);
  EXPECT_EQ(hparams.Get<float>("d"), 0.5f);
  EXPECT_EQ(hparams.Get<double>("i"), 7.0);
  EXPECT_EQ(hparams.Get<std::string>("s"), "adam");
  EXPECT_EQ(hparams.GetOr<int>("absent", 3), 3);
}

TEST(HparamsTest, DotsSeparateNestedNames) {
  const Hparams hparams(R"({"layers": {"width": 3, "a.b": 1}, "x.y": 2})");
  EXPECT_EQ(hparams.Get<int>("layers.width"), 3);
  EXPECT_EQ(hparams.Get<int>("layers.a.b"), 1);
  EXPECT_EQ(hparams.Get<int>("x.y"), 2);
  EXPECT_FALSE(hparams.Has("layers.depth"));
}

TEST(HparamsTest, ErrorsNameTheHyperparameter) {
  const Hparams hparams(R"({"lr": 0.1, "big": 3000000000, "s": "x", "n": {"m": "t"}})");
  EXPECT_EQ(GetError<int>(hparams, "lr"), "hyperparameter 'lr' is 0.1, not an integer");
  EXPECT_NE(GetError<int>(hparams, "big").find("'big'"), std::string::npos);
  EXPECT_NE(GetError<int>(hparams, "absent").find("'absent' is missing"), std::string::npos);
  EXPECT_NE(GetError<bool>(hparams, "s").find("true or false"), std::string::npos);
  EXPECT_NE(GetError<double>(hparams, "n.m").find("'n.m'"), std::string::npos);
  EXPECT_NE(GetError<std::string>(hparams, "lr").find("a string"), std::string::npos);
}

TEST(HparamsTest, RejectsTextThatIsNotObject) {
  EXPECT_THROW(Hparams("[1]"), Error);
  EXPECT_THROW(Hparams("{"), Error);
  EXPECT_EQ(Hparams().ToJson(), "{}");
}

}  // namespace
}  // namespace det
