#include "master/config.h"

#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include "base/file.h"
#include "gtest/gtest.h"

namespace det::master {
namespace {

std::variant<Config, Exit> Parse(std::vector<std::string> words) {
  words.insert(words.begin(), "resolute-master");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return ParseFlags(static_cast<int>(argv.size()), argv.data());
}

Config Good(const std::vector<std::string>& words) {
  const auto parsed = Parse(words);
  EXPECT_TRUE(std::holds_alternative<Config>(parsed));
  const auto* config = std::get_if<Config>(&parsed);
  return config == nullptr ? Config() : *config;
}

bool IsRefused(const std::vector<std::string>& words) {
  const auto parsed = Parse(words);
  const auto* exit = std::get_if<Exit>(&parsed);
  return exit != nullptr && exit->code == 2;
}

TEST(ConfigTest, TheAdministratorsPasswordComesFromAFile) {
  const base::TempDir dir = *base::TempDir::Create();
  const std::string file = dir.path() + "/password";
  ASSERT_TRUE(base::WriteFileAtomically(file, "pass word\r\nmore\n", 0600).ok());
  EXPECT_EQ(Good({"--admin-password-file", file}).admin_password, "pass word");
  EXPECT_EQ(Good({"--admin-password", "flag"}).admin_password, "flag");
  EXPECT_EQ(Good({}).admin_password, "");
  EXPECT_TRUE(IsRefused({"--admin-password-file", file, "--admin-password", "flag"}));
  EXPECT_TRUE(IsRefused({"--admin-password-file", dir.path() + "/none"}));
  ASSERT_TRUE(base::WriteFileAtomically(file, "\n").ok());
  EXPECT_TRUE(IsRefused({"--admin-password-file", file}));
}

TEST(ConfigTest, OrFromTheEnvironmentWhichForgetsIt) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{}, {"--admin-password", "flag"}}) {
    ASSERT_EQ(::setenv("DET_ADMIN_PASSWORD", "secret", 1), 0);
    EXPECT_EQ(Good(words).admin_password, words.empty() ? "secret" : "flag");
    EXPECT_EQ(::getenv("DET_ADMIN_PASSWORD"), nullptr);
  }
}

TEST(ConfigTest, CheckpointRootsAreAbsolute) {
  const std::vector<std::string> roots = {"/mnt/a", "/mnt/b"};
  EXPECT_EQ(Good({"--checkpoint-root", "/mnt/a", "--checkpoint-root", "/mnt/b"}).checkpoint_roots,
            roots);
  EXPECT_TRUE(IsRefused({"--checkpoint-root", "relative"}));
}

}  // namespace
}  // namespace det::master
