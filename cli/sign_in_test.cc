// Credentials of det: the token cache, the environment, and the renewal of rejected tokens.
#include "cli/sign_in.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/api_client.h"
#include "cli/testing/fake_server.h"
#include "cli/testing/run_det.h"
#include "cli/token_cache.h"
#include "cli/trusted_certificates.h"
#include "det/api/v1/experiment.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kUrl[] = "http://127.0.0.1:1";
constexpr char kRefused[] = R"({"error":{"code":16,"error":"unknown token"}})";

class SignInTest : public ::testing::Test {
 protected:
  CleanEnvironment environment_;
};

TEST_F(SignInTest, HashesLikeOtherClients) {
  EXPECT_EQ(HashPassword("Abcdef12345"),
            "e6b428709dc8ef554ad401e612cdc57b29e94028c87767033b4f55234939e57c9ab8f7a876221a06547a9b"
            "5935725a7eb6d7628914e3a23d1b08782fb7625a66");
  EXPECT_EQ(HashPassword(""), "");
}

TEST_F(SignInTest, RejectsWeakPasswords) {
  EXPECT_TRUE(CheckNewPassword("Abcdef12").ok());
  for (const char* weak : {"", "Abcde12", "abcdef12", "ABCDEF12", "Abcdefgh"}) {
    EXPECT_FALSE(CheckNewPassword(weak).ok()) << weak;
  }
}

TEST_F(SignInTest, CacheHasFormatOfOtherClientsAndIsPrivate) {
  ASSERT_TRUE(SaveToken(kUrl, "ann", "a1", /*activate=*/true).ok());
  ASSERT_TRUE(SaveToken(kUrl, "bob", "b1", /*activate=*/false).ok());
  std::stringstream text;
  text << std::ifstream(TokenCachePath()).rdbuf();
  EXPECT_EQ(text.str(), R"({
  "masters": {
    "http://127.0.0.1:1": {
      "active_user": "ann",
      "tokens": {
        "ann": "a1",
        "bob": "b1"
      }
    }
  },
  "version": 2
}
)");
  struct stat info = {};
  ASSERT_EQ(stat(TokenCachePath().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(SignInTest, FindsTokenOfUserOrActiveUser) {
  ASSERT_TRUE(SaveToken(kUrl, "ann", "a1", /*activate=*/true).ok());
  ASSERT_TRUE(SaveToken(kUrl, "bob", "b1", /*activate=*/false).ok());
  EXPECT_EQ(FindToken(kUrl)->user, "ann");
  EXPECT_EQ(FindToken(kUrl, "bob")->token, "b1");
  EXPECT_FALSE(FindToken("http://127.0.0.1:2").has_value());
  ASSERT_TRUE(RemoveToken(kUrl, "ann").ok());
  EXPECT_FALSE(FindToken(kUrl).has_value());
  EXPECT_THAT(GetCachedUsers(kUrl), ElementsAre("bob"));
}

TEST_F(SignInTest, StoresCertificatesByUrlUnlessEnvironmentIsSet) {
  const std::string url = "https://m:8443";
  EXPECT_EQ(GetTrust(url)->certificates, "");
  EXPECT_TRUE(GetTrust(url)->verify);
  ASSERT_TRUE(SaveCertificates(url, "PEM").ok());
  EXPECT_EQ(GetTrust(url)->certificates, "PEM");
  EXPECT_EQ(GetTrust("https://other:8443")->certificates, "");
  const std::string file = std::string(getenv("DET_DEBUG_CONFIG_PATH")) + "/ca.crt";
  std::ofstream(file) << "FILE";
  setenv("DET_MASTER_CERT_FILE", file.c_str(), 1);
  setenv("DET_MASTER_CERT_NAME", "resolute", 1);
  EXPECT_EQ(GetTrust(url)->certificates, "FILE");
  EXPECT_EQ(GetTrust(url)->name, "resolute");
  setenv("DET_MASTER_CERT_FILE", "/no/such/file", 1);
  EXPECT_TRUE(absl::IsInvalidArgument(GetTrust(url).status()));
  setenv("DET_MASTER_CERT_FILE", "noverify", 1);
  EXPECT_FALSE(GetTrust(url)->verify);
  unsetenv("DET_MASTER_CERT_FILE");
  unsetenv("DET_MASTER_CERT_NAME");
  ASSERT_TRUE(SaveCertificates(url, "").ok());
  EXPECT_EQ(GetTrust(url)->certificates, "");
}

TEST_F(SignInTest, KeepsCertificatesOfConcurrentWrites) {
  constexpr int kEach = 50;
  const auto url = [](int by, int i) { return absl::StrCat("https://host-", by, ":", 1000 + i); };
  std::vector<std::thread> dets;
  for (int by = 0; by < 4; ++by) {
    dets.emplace_back([&, by] {
      for (int i = 0; i < kEach; ++i) EXPECT_TRUE(SaveCertificates(url(by, i), "PEM").ok());
    });
  }
  for (std::thread& det : dets) det.join();
  for (int by = 0; by < 4; ++by) {
    for (int i = 0; i < kEach; ++i) ASSERT_EQ(GetTrust(url(by, i))->certificates, "PEM");
  }
}

TEST_F(SignInTest, ReportsDamagedCertificateFile) {
  const std::string url = "https://127.0.0.1:1";
  ASSERT_TRUE(SaveCertificates(url, "PEM").ok());
  const std::string auth = TokenCachePath();
  const std::string path = auth.substr(0, auth.rfind('/')) + "/certs.json";
  std::ofstream(path) << R"({"https://other:1": "PEM)";
  for (const absl::Status& refused :
       {GetTrust(url).status(), SaveCertificates(url, "NEW"), SaveCertificates(url, "")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("certs.json: is not a JSON object"));
  }
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), R"({"https://other:1": "PEM)");
}

TEST_F(SignInTest, TreatsInvalidCacheAsEmpty) {
  for (const char* text : {"", "{", "[]", R"({"version":1})", R"({"version":2,"masters":3})",
                           R"({"version":2,"masters":{"http://127.0.0.1:1":{"tokens":[]}}})"}) {
    std::ofstream(TokenCachePath()) << text;
    EXPECT_FALSE(FindToken(kUrl).has_value()) << text;
    EXPECT_TRUE(SaveToken(kUrl, "ann", "a1", true).ok()) << text;
    EXPECT_EQ(FindToken(kUrl)->token, "a1") << text;
  }
}

TEST_F(SignInTest, UsesCredentialsInOrderOfPrecedence) {
  EXPECT_EQ(FindMaster(kUrl)->source, TokenSource::kNone);
  ASSERT_TRUE(SaveToken(kUrl, "ann", "a1", true).ok());
  ASSERT_TRUE(SaveToken(kUrl, "bob", "b1", false).ok());
  EXPECT_EQ(FindMaster(kUrl)->token, "a1");
  setenv("DET_USER_TOKEN", "t1", 1);
  EXPECT_EQ(FindMaster(kUrl)->token, "t1");
  // DET_USER alone is only a name: the environment of a task has both.
  setenv("DET_USER", "bob", 1);
  EXPECT_EQ(FindMaster(kUrl)->token, "t1");
  setenv("DET_PASS", "secret", 1);
  EXPECT_EQ(FindMaster(kUrl)->token, "b1");
  EXPECT_EQ(FindMaster(kUrl)->password, "secret");
  EXPECT_EQ(FindMaster(kUrl, "ann")->token, "a1");
  EXPECT_EQ(FindMaster(kUrl, "ann")->password, std::nullopt);
  EXPECT_EQ(FindMaster(kUrl, "eve")->token, "");
}

TEST_F(SignInTest, RenewsRejectedTokenWithPasswordOfEnvironment) {
  setenv("DET_USER", "bob", 1);
  setenv("DET_PASS", "Abcdef12345", 1);
  const std::string refusal = Answer("401 Unauthorized", kRefused);
  const DetResult result =
      RunDet("user whoami", {refusal, R"({"token":"t2","user":{"username":"bob"}})",
                             R"({"user":{"username":"bob","admin":false}})"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  ASSERT_EQ(result.requests.size(), 3u);
  EXPECT_THAT(result.requests[1], HasSubstr("POST /api/v1/auth/login"));
  EXPECT_THAT(result.requests[1], HasSubstr(HashPassword("Abcdef12345")));
  EXPECT_THAT(result.requests[1], HasSubstr(R"("isHashed":true)"));
  EXPECT_THAT(result.out, HasSubstr("bob"));
}

TEST_F(SignInTest, SignsInWithEmptyPassword) {
  const std::string refusal = Answer("401 Unauthorized", kRefused);
  const std::string session = R"({"token":"t2","user":{"username":"bob"}})";
  const std::string me = R"({"user":{"username":"bob","admin":false}})";
  setenv("DET_USER", "bob", 1);
  setenv("DET_USER_TOKEN", "t1", 1);
  setenv("DET_PASS", "", 1);
  const DetResult renewed = RunDet("user whoami", {refusal, session, me});
  ASSERT_TRUE(renewed.code.ok()) << renewed.code.status();
  EXPECT_THAT(renewed.requests[1], HasSubstr(R"("username":"bob")"));
  EXPECT_THAT(renewed.requests[1], ::testing::Not(HasSubstr(R"("password":"e)")));
  const DetResult login = RunDet("user login bob", {session});
  ASSERT_TRUE(login.code.ok()) << login.code.status();
  unsetenv("DET_PASS");
  for (const char* words : {"user login --password= bob", "user login bob --password="}) {
    const DetResult with_option = RunDet(words, {session});
    ASSERT_TRUE(with_option.code.ok()) << with_option.code.status();
  }
}

TEST_F(SignInTest, RenewsTokenOnlyOnce) {
  setenv("DET_USER", "bob", 1);
  setenv("DET_PASS", "x", 1);
  const std::string refusal = Answer("401 Unauthorized", kRefused);
  const DetResult result = RunDet("user whoami", {refusal, R"({"token":"t2"})", refusal});
  EXPECT_TRUE(absl::IsUnauthenticated(result.code.status())) << result.code.status();
}

TEST_F(SignInTest, ReportsWrongPassword) {
  setenv("DET_USER", "bob", 1);
  setenv("DET_PASS", "x", 1);
  const DetResult result =
      RunDet("user whoami",
             {Answer("401 Unauthorized", kRefused),
              Answer("403 Forbidden", R"({"error":{"error":"unknown user or wrong password"}})")});
  EXPECT_THAT(std::string(result.code.status().message()),
              HasSubstr("cannot sign in as bob at http"));
  EXPECT_THAT(std::string(result.code.status().message()), HasSubstr("wrong password"));
}

TEST_F(SignInTest, NamesRemedy_WhenNotATerminal) {
  const std::string refusal = Answer("401 Unauthorized", kRefused);
  EXPECT_THAT(std::string(RunDet("user whoami", {refusal}).code.status().message()),
              HasSubstr("not signed in at http"));
  EXPECT_THAT(std::string(RunDet("user whoami -u bob", {refusal}).code.status().message()),
              HasSubstr("bob is not signed in at http"));
  setenv("DET_USER_TOKEN", "t1", 1);
  EXPECT_THAT(std::string(RunDet("user whoami", {refusal}).code.status().message()),
              HasSubstr("rejected the token of DET_USER_TOKEN (unknown token)"));
}

}  // namespace
}  // namespace det::cli
