#include "master/checkpoint_storage/checkpoint_bucket.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include <gtest/gtest.h>

namespace det::checkpoint_storage {
namespace {

using Storage = model::CheckpointStorageConfig;

constexpr char kId[] = "0e7cc75b-9f2a-4f8d-8d0f-6f5dcd0c1a11";

Storage S3(const std::string& bucket, const std::string& prefix = "") {
  Storage storage;
  storage.type = "s3";
  storage.bucket = bucket;
  storage.prefix = prefix;
  return storage;
}

std::string GetRejection(const Rules& rules, const Storage& storage) {
  return std::string(CheckRules(rules, storage).message());
}

TEST(CheckpointBucketTest, AllowsOwnStorage) {
  Rules rules;
  rules.own = S3("own", "team");
  rules.own.endpoint_url = "http://minio:9000";
  Storage storage = rules.own;
  EXPECT_TRUE(CheckRules(rules, storage).ok());
  storage.prefix = "team/a";
  EXPECT_TRUE(CheckRules(rules, storage).ok());
  for (const char* prefix : {"", "teams", "other"}) {
    storage.prefix = prefix;
    EXPECT_FALSE(CheckRules(rules, storage).ok()) << prefix;
  }
}

TEST(CheckpointBucketTest, RequiresCredentialsOrRoot) {
  Storage storage = S3("b");
  EXPECT_EQ(
      GetRejection({}, storage),
      "the master may not access s3://b with its own credentials; give credentials in "
      "checkpoint_storage, or add s3://b to checkpoint_roots in the master's configuration, or do "
      "it outside of the master");
  EXPECT_TRUE(CheckRules({.roots = {"/mnt", "s3://b/"}}, storage).ok());
  EXPECT_FALSE(CheckRules({.roots = {"s3://bb"}}, storage).ok());
  storage.access_key = "key";
  EXPECT_TRUE(CheckRules({}, storage).ok());
}

TEST(CheckpointBucketTest, RejectsUnknownServers) {
  Storage storage = S3("latest", "meta-data");
  storage.access_key = "key";
  for (const char* server :
       {"http://169.254.169.254", "https://minio:9000", "https://s3.amazonaws.com.evil.org",
        "https://s3.amazonaws.com:444", "https://user@s3.amazonaws.com", "http://s3.amazonaws.com",
        "https://evil.org/.amazonaws.com", "https://a.execute-api.us-east-1.amazonaws.com",
        "https://s3-x.us-east-1.elb.amazonaws.com", "https://ec2-1-2-3-4.compute.amazonaws.com",
        "https://a.blob.core.windows.net"}) {
    storage.endpoint_url = server;
    EXPECT_TRUE(absl::StrContains(GetRejection({}, storage), "may not access")) << server;
  }
  storage.endpoint_url = "https://s3.eu-north-1.amazonaws.com/";
  EXPECT_TRUE(CheckRules({}, storage).ok());
  for (const char* server : {"https://s3.amazonaws.com", "https://s3-eu-west-1.amazonaws.com",
                             "https://s3.dualstack.us-east-1.amazonaws.com"}) {
    storage.endpoint_url = server;
    EXPECT_TRUE(CheckRules({}, storage).ok()) << server;
  }
  storage.endpoint_url = "https://minio:9000";
  EXPECT_TRUE(CheckRules({.roots = {"https://minio:9000"}}, storage).ok());
}

TEST(CheckpointBucketTest, ChecksAzureAccount) {
  Storage storage;
  storage.type = "azure";
  storage.container = "c";
  storage.connection_string = "AccountName=a;AccountKey=a2V5";
  EXPECT_TRUE(CheckRules({}, storage).ok());
  storage.connection_string = "BlobEndpoint=http://10.0.0.7/a;AccountName=a;AccountKey=a2V5";
  EXPECT_EQ(GetRejection({}, storage),
            "the master may not access http://10.0.0.7; add it to checkpoint_roots in the master's "
            "configuration, or do it outside of the master");
  EXPECT_TRUE(CheckRules({.roots = {"http://10.0.0.7"}}, storage).ok());
  for (const char* of_another :
       {"BlobEndpoint=https://x.blob.core.windows.net",
        "BlobEndpoint=https://x.blob.core.windows.net;SharedAccessSignature=?"}) {
    storage.connection_string = of_another;
    EXPECT_TRUE(absl::StrContains(GetRejection({}, storage), "with its own credentials"))
        << of_another;
  }
  storage.connection_string =
      "BlobEndpoint=https://a.execute-api.us-east-1.amazonaws.com;"
      "AccountName=a;AccountKey=a2V5";
  EXPECT_TRUE(absl::StrContains(GetRejection({}, storage), "may not access"));
}

TEST(CheckpointBucketTest, AppliesRoots) {
  EXPECT_TRUE(IsAmongRoots({}, S3("b")));
  EXPECT_FALSE(IsAmongRoots({.roots = {"/mnt"}}, S3("b")));
  EXPECT_TRUE(IsAmongRoots({.roots = {"s3://b"}}, S3("b")));
}

TEST(CheckpointBucketTest, RejectsKeysOutsideOfCheckpoint) {
  const model::CheckpointId id(kId);
  EXPECT_EQ(*MakeKey(S3("b", "p/"), id, "a/b"), std::string("p/") + kId + "/a/b");
  EXPECT_EQ(*MakeKey(S3("b"), id, "a"), std::string(kId) + "/a");
  EXPECT_EQ(MakeAddress(S3("b", "p"), id), std::string("s3://b/p/") + kId);
  EXPECT_FALSE(MakeKey(S3("b"), id, "a/../../b").ok());
  EXPECT_FALSE(MakeKey(S3("b"), id, "").ok());
  EXPECT_FALSE(MakeKey(S3("b"), model::CheckpointId("other"), "a").ok());
}

class FakeBucket final : public objects::Bucket {
 public:
  absl::Status Put(const std::string& key, absl::string_view content) override {
    objects[key] = std::string(content);
    return absl::OkStatus();
  }
  absl::Status PutFile(const std::string&, const std::string&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::string> Read(const std::string& key, int64_t, int64_t) override {
    if (!objects.contains(key)) return absl::NotFoundError(key);
    return objects[key];
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& prefix) override {
    std::vector<std::string> keys;
    for (const auto& [key, content] : objects) {
      if (absl::StartsWith(key, prefix)) keys.push_back(key);
    }
    return keys;
  }
  absl::Status Remove(const std::string& key) override {
    if (removals-- == 0) return absl::UnavailableError("the server is away");
    objects.erase(key);
    return absl::OkStatus();
  }

  std::map<std::string, std::string> objects;
  int removals = -1;  // that go well
};

TEST(CheckpointBucketTest, RemovesOnlyNamedFiles) {
  const std::string id = kId;
  FakeBucket bucket;
  bucket.objects = {{"p/" + id + "/a", "1"},
                    {"p/" + id + "/code/b", "1"},
                    {"p/" + id + "/manifest.json", "{}"},
                    {"p/other", "1"}};
  const model::Resources files = {{"code/", 0}, {"code/b", 1}, {"gone", 1}, {"../other", 1}};
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(RemoveFiles(bucket, S3("b", "p"), model::CheckpointId(id), files).ok());
    EXPECT_EQ(bucket.objects.size(), 3u);
    EXPECT_FALSE(bucket.objects.contains("p/" + id + "/code/b"));
  }
  bucket.removals = 0;
  EXPECT_TRUE(
      absl::IsUnavailable(RemoveFiles(bucket, S3("b", "p"), model::CheckpointId(id), {{"a", 1}})));
}

TEST(CheckpointBucketTest, RemovesCheckpointAfterInterruption) {
  const std::string id = kId;
  for (int removals = 0; removals < 5; ++removals) {
    FakeBucket bucket;
    bucket.objects = {{"p/" + id + "/a", "1"},
                      {"p/" + id + "/manifest.json", R"({"owner": "me", "files": []})"},
                      {"p/" + id + "/metadata.json", "{}"},
                      {"p/" + id + "0/a", "of another"},
                      {"p/owners/me/" + id, ""},
                      {"p/owners/you/" + id, "of another"}};
    bucket.removals = removals;
    EXPECT_EQ(RemoveCheckpoint(bucket, S3("b", "p"), model::CheckpointId(id)).ok(), removals == 4);
    bucket.removals = -1;
    EXPECT_TRUE(RemoveCheckpoint(bucket, S3("b", "p"), model::CheckpointId(id)).ok());
    EXPECT_EQ(bucket.objects.size(), 2u) << removals;
    EXPECT_TRUE(RemoveCheckpoint(bucket, S3("b", "p"), model::CheckpointId(id)).ok());
  }
}

}  // namespace
}  // namespace det::checkpoint_storage
