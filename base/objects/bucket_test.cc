// Runs on all three services, against a fake server that checks the requests.
#include "base/objects/bucket.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "base/objects/testing/object_server.h"
#include "base/subprocess.h"
#include <gtest/gtest.h>

namespace det::objects {
namespace {

constexpr RetryPolicy kQuick = {.max_attempts = 5, .initial_delay = absl::Milliseconds(1)};

// Sets the environment variables that affect credentials.
void SetVariables(const std::map<std::string, std::string>& given) {
  for (const char* name :
       {"HOME", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
        "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_REGION",
        "AWS_DEFAULT_REGION", "AWS_EC2_METADATA_DISABLED", "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        "GOOGLE_APPLICATION_CREDENTIALS", "STORAGE_EMULATOR_HOST", "GCE_METADATA_HOST",
        "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_POD_IDENTITY_AUTHORITY_HOST"}) {
    ::unsetenv(name);
  }
  ::setenv("HOME", "/nonexistent", 1);
  for (const auto& [name, value] : given) ::setenv(name.c_str(), value.c_str(), 1);
}

class BucketTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SetVariables({}); }

  std::string FileWith(const std::string& content) const {
    const std::string path = dir_.path() + "/file";
    EXPECT_TRUE(base::WriteFile(path, content).ok());
    return path;
  }

  const base::TempDir dir_ = *base::TempDir::Create("det-bucket");
};

TEST_P(BucketTest, PutsReadsListsAndRemovesObjects) {
  const ObjectServer server;
  const auto bucket = *OpenBucket(server.GetBucketConfig(GetParam()), kQuick);
  const std::string odd = "p/a b+c$~&'=%41/é.txt";
  ASSERT_TRUE(bucket->Put(odd, "hello").ok()) << bucket->Put(odd, "hello");
  ASSERT_TRUE(bucket->Put(odd, "hello again").ok());
  EXPECT_EQ(*bucket->Read(odd, 0, 100), "hello again");
  EXPECT_EQ(*bucket->Read(odd, 6, 3), "aga");
  EXPECT_EQ(*bucket->Read(odd, 11, 3), "");
  ASSERT_TRUE(bucket->Put("p/empty", "").ok());
  EXPECT_EQ(*bucket->Read("p/empty", 0, 1), "");
  EXPECT_EQ(bucket->Read("p/absent", 0, 1).status().code(), absl::StatusCode::kNotFound);

  std::vector<std::string> keys = {odd, "p/empty"};
  for (int i = 0; i < 5; ++i) {
    keys.push_back(absl::StrCat("p/f<", i, ">"));
    ASSERT_TRUE(bucket->Put(keys.back(), "x").ok());
  }
  ASSERT_TRUE(bucket->Put("q/other", "x").ok());
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(*bucket->List("p/"), keys);  // several pages
  EXPECT_EQ(*bucket->List("none/"), std::vector<std::string>());
  for (const std::string& key : keys) EXPECT_TRUE(bucket->Remove(key).ok());
  EXPECT_TRUE(bucket->Remove(keys.front()).ok());
  EXPECT_EQ(server.Get("/count"), "1");
}

TEST_P(BucketTest, PutsAndGetsFilesOfAnySize) {
  const ObjectServer server({"--fail", "3"});
  const auto bucket = *OpenBucket(server.GetBucketConfig(GetParam()), kQuick);
  for (const size_t size : {size_t{0}, size_t{5}, size_t{kPartSize} + 12'345'678}) {
    std::string content(size, 'a');
    for (size_t i = 0; i < size; i += 997) content[i] = static_cast<char>(i);
    const absl::Status put = bucket->PutFile("big", FileWith(content));
    ASSERT_TRUE(put.ok()) << put;
    const std::string back = dir_.path() + "/back";
    ASSERT_TRUE(bucket->GetFile("big", back).ok());
    EXPECT_TRUE(*base::ReadFile(back) == content) << size;
  }
  EXPECT_FALSE(bucket->PutFile("absent", dir_.path() + "/absent").ok());
  EXPECT_EQ(bucket->GetFile("absent", dir_.path() + "/back").code(), absl::StatusCode::kNotFound);
}

TEST_P(BucketTest, CompletesUpload_WhenResponseIsLostOrFailsLate) {
  const ObjectServer server;
  const auto bucket = *OpenBucket(server.GetBucketConfig(GetParam()), kQuick);
  const std::string content(size_t{kPartSize} + 1, 'x');
  for (const char* key : {"fails-late", "answer-lost"}) {
    const absl::Status put = bucket->PutFile(key, FileWith(content));
    EXPECT_TRUE(put.ok()) << key << ": " << put;
    EXPECT_EQ(*bucket->Read(key, kPartSize, 10), "x") << key;
  }
}

TEST_P(BucketTest, DoesNotTakeContentOfObjectForErrorResponse) {
  const ObjectServer server;
  const auto bucket = *OpenBucket(server.GetBucketConfig(GetParam()), kQuick);
  const std::string text = "<?xml version='1.0'?><Error><Code>InternalError</Code></Error>";
  ASSERT_TRUE(bucket->Put("log.xml", text).ok());
  EXPECT_EQ(*bucket->Read("log.xml", 0, 1000), text);
}

TEST_P(BucketTest, ReturnsFailedPrecondition_WhenBucketDoesNotExist) {
  const ObjectServer server;
  BucketConfig config = server.GetBucketConfig(GetParam());
  config.bucket = config.container = "absent";
  const absl::Status put = (*OpenBucket(config, kQuick))->Put("key", "x");
  EXPECT_EQ(put.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(
      put.message(), "absent at " + server.url() + ": cannot write key: HTTP status 404 "))
      << put;
  EXPECT_TRUE(absl::StrContains(put.message(), "; create it, or use another")) << put;
}

TEST_P(BucketTest, ReturnsUnavailable_WhenServerIsDownOrFails) {
  auto server = std::make_unique<ObjectServer>(std::vector<std::string>{"--fail", "1"});
  const BucketConfig config = server->GetBucketConfig(GetParam());
  const RetryPolicy once = {.max_attempts = 2, .initial_delay = absl::Milliseconds(1)};
  const absl::Status failing = (*OpenBucket(config, once))->Put("key", "x");
  EXPECT_EQ(failing.code(), absl::StatusCode::kUnavailable) << failing;
  server.reset();
  const absl::Status unreachable = (*OpenBucket(config, once))->Put("key", "x");
  // Without a response, this machine has no service account of Google.
  EXPECT_EQ(unreachable.code(), std::string(GetParam()) == "gcs"
                                    ? absl::StatusCode::kUnauthenticated
                                    : absl::StatusCode::kUnavailable)
      << unreachable;
}

INSTANTIATE_TEST_SUITE_P(Services, BucketTest, testing::Values("s3", "gcs", "azure"));

TEST(S3CredentialsTest, UsesEachSource) {
  const ObjectServer server;
  const base::TempDir dir = *base::TempDir::Create("det-bucket");
  const std::string key = "AKIDEXAMPLE";
  const std::string secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
  ASSERT_TRUE(base::WriteFile(dir.path() + "/keys",
                              absl::StrCat("[default]\naws_access_key_id = other\n\n[mine]\n",
                                           "aws_access_key_id=", key,
                                           "\naws_secret_access_key = ", secret, "\n"))
                  .ok());
  BucketConfig config;
  config.type = "s3";
  config.bucket = "bucket";
  config.endpoint_url = server.url() + "/";
  const std::vector<std::map<std::string, std::string>> all = {
      {{"AWS_ACCESS_KEY_ID", key}, {"AWS_SECRET_ACCESS_KEY", secret}},
      {{"AWS_ACCESS_KEY_ID", key},
       {"AWS_SECRET_ACCESS_KEY", secret},
       {"AWS_SESSION_TOKEN", "session"}},
      {{"AWS_SHARED_CREDENTIALS_FILE", dir.path() + "/keys"}, {"AWS_PROFILE", "mine"}},
      {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url() + "/container-credentials"},
       {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-proof"}},
      {{"AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url()}},
  };
  for (const auto& variables : all) {
    SetVariables(variables);
    const absl::Status put = (*OpenBucket(config, kQuick))->Put("key", "x");
    EXPECT_TRUE(put.ok()) << variables.begin()->first << ": " << put;
  }
  SetVariables({{"AWS_EC2_METADATA_DISABLED", "true"}});
  EXPECT_EQ((*OpenBucket(config, kQuick))->Put("key", "x").code(),
            absl::StatusCode::kUnauthenticated);
  SetVariables({{"AWS_ACCESS_KEY_ID", key}, {"AWS_SECRET_ACCESS_KEY", "of-another"}});
  const absl::Status rejected = (*OpenBucket(config, kQuick))->Put("key", "x");
  EXPECT_EQ(rejected.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(absl::StrContains(rejected.message(), "SignatureDoesNotMatch")) << rejected;
  EXPECT_FALSE(absl::StrContains(rejected.message(), "of-another")) << rejected;
}

TEST(S3CredentialsTest, UsesRegionOfBucket) {
  const ObjectServer server({"--region", "eu-north-1"});
  SetVariables({{"AWS_REGION", "us-west-2"}});
  const auto bucket = *OpenBucket(server.GetBucketConfig("s3"), kQuick);
  ASSERT_TRUE(bucket->Put("key", "x").ok()) << bucket->Put("key", "x");
  EXPECT_EQ(*bucket->Read("key", 0, 1), "x");
}

class GoogleCredentialsTest : public testing::Test {
 protected:
  absl::Status PutWith(const std::string& json) {
    const std::string path = dir_.path() + "/credentials.json";
    EXPECT_TRUE(base::WriteFile(path, json).ok());
    SetVariables(
        {{"STORAGE_EMULATOR_HOST", server_.url()}, {"GOOGLE_APPLICATION_CREDENTIALS", path}});
    BucketConfig config;
    config.type = "gcs";
    config.bucket = "bucket";
    return (*OpenBucket(config, kQuick))->Put("key", "x");
  }

  const ObjectServer server_;
  const base::TempDir dir_ = *base::TempDir::Create("det-bucket");
};

TEST_F(GoogleCredentialsTest, UsesCredentialsOfUser) {
  const std::string user = absl::StrCat(R"({"type": "authorized_user", "client_id": "id",
      "client_secret": "s", "token_uri": ")",
                                        server_.url(), R"(/token", "refresh_token": ")");
  const absl::Status put = PutWith(user + "refresh\"}");
  EXPECT_TRUE(put.ok()) << put;
  EXPECT_EQ(PutWith(user + "other\"}").code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(PutWith("{\"type\": \"odd\"}").code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(GoogleCredentialsTest, UsesCredentialsOfServiceAccount) {
  const std::string key = dir_.path() + "/key.pem";
  const std::string open = dir_.path() + "/open.pem";
  for (const std::vector<std::string>& argv :
       {std::vector<std::string>{"openssl", "genpkey", "-quiet", "-algorithm", "RSA", "-out", key},
        std::vector<std::string>{"openssl", "pkey", "-in", key, "-pubout", "-out", open}}) {
    base::SpawnOptions options;
    options.argv = argv;
    ASSERT_TRUE(base::WaitForExit(base::Spawn(options)->pid)->ok()) << argv[1];
  }
  const std::string pem = absl::StrReplaceAll(*base::ReadFile(key), {{"\n", "\\n"}});
  const auto account = [&](const std::string& email) {
    return absl::StrCat(R"({"type": "service_account", "client_email": ")", email,
                        R"(", "private_key": ")", pem, R"(", "token_uri": ")", server_.url(),
                        "/token?public_key=", open, "\"}");
  };
  const absl::Status put = PutWith(account("robot@example.org"));
  EXPECT_TRUE(put.ok()) << put;
  EXPECT_EQ(PutWith(account("other@example.org")).code(), absl::StatusCode::kUnauthenticated);
}

TEST(AzureCredentialsTest, UsesEachSource) {
  const ObjectServer server;
  BucketConfig config;
  config.type = "azure";
  config.container = "container";
  config.account_url = server.url() + "/account";
  const auto put = [&] { return (*OpenBucket(config, kQuick))->Put("key", "x"); };
  const std::string sas = "sv=2021&sig=azure-sas%2F%2B%3D";
  {
    SetVariables({{"AZURE_STORAGE_KEY", "YXp1cmUta2V5"}});
    EXPECT_TRUE(put().ok()) << put();
  }
  {
    SetVariables({{"AZURE_STORAGE_SAS_TOKEN", "?" + sas}});
    EXPECT_TRUE(put().ok()) << put();
  }
  {
    SetVariables({{"AZURE_POD_IDENTITY_AUTHORITY_HOST", server.url()}});
    EXPECT_TRUE(put().ok()) << put();
  }
  SetVariables({});
  config.credential = "YXp1cmUta2V5";
  EXPECT_TRUE(put().ok()) << put();
  config.credential = sas;
  EXPECT_TRUE(put().ok()) << put();
  config.credential = "d3Jvbmc=";
  EXPECT_EQ(put().code(), absl::StatusCode::kPermissionDenied);
  config.account_url = "";
  config.connection_string =
      "BlobEndpoint=" + server.url() + "/account;SharedAccessSignature=" + sas;
  EXPECT_TRUE(put().ok()) << put();
}

TEST(OpenBucketTest, RejectsInvalidConfigs) {
  EXPECT_EQ(OpenBucket({.type = "ftp", .bucket = "b"}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenBucket({.type = "s3"}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      OpenBucket({.type = "s3", .bucket = "b", .endpoint_url = "minio:9000"}).status().message(),
      "checkpoint_storage.endpoint_url: \"minio:9000\" is not the URL of a server; expected a URL "
      "such as https://minio.example.org:9000");
}

}  // namespace
}  // namespace det::objects
