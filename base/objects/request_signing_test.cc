// The examples from the documentation of Amazon and Azure.
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "base/objects/azure_signature.h"
#include "base/objects/encode.h"
#include "base/objects/s3_signature.h"
#include <gtest/gtest.h>

namespace det::objects {
namespace {

std::string GetHeader(const Call& call, const std::string& name) {
  for (const auto& [given, value] : call.headers) {
    if (given == name) return value;
  }
  return "";
}

// docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
std::string ComputeS3Signature(Call call) {
  const S3Keys keys = {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
  SignS3(call, "examplebucket.s3.amazonaws.com", keys, "us-east-1",
         absl::FromCivil(absl::CivilSecond(2013, 5, 24), absl::UTCTimeZone()));
  const std::string proof = GetHeader(call, "Authorization");
  return proof.substr(proof.find("Signature=") + 10);
}

TEST(S3SignatureTest, MatchesExampleOfGetWithRange) {
  Call call;
  call.path = "/test.txt";
  call.headers = {{"Range", "bytes=0-9"}};
  EXPECT_EQ(ComputeS3Signature(call),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(S3SignatureTest, MatchesExampleOfPut) {
  Call call;
  call.method = "PUT";
  call.path = "/" + PercentEncodePath("test$file.text");
  call.headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                  {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
  call.body = "Welcome to Amazon S3.";
  EXPECT_EQ(ComputeS3Signature(call),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(S3SignatureTest, MatchesExampleOfQueryWithoutValue) {
  Call call;
  call.path = "/";
  call.query = {{"lifecycle", ""}};
  EXPECT_EQ(ComputeS3Signature(call),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(S3SignatureTest, MatchesExampleOfUnsortedQuery) {
  Call call;
  call.path = "/";
  call.query = {{"prefix", "J"}, {"max-keys", "2"}};
  EXPECT_EQ(ComputeS3Signature(call),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

// The expected text is assembled here from the documentation's table.
TEST(AzureSignatureTest, SignsWithSharedKey) {
  const AzureAccount account =
      *ParseAccountUrl("https://myaccount.blob.core.windows.net/", absl::Base64Escape("a secret"));
  EXPECT_EQ(account.name, "myaccount");
  Call call;
  call.method = "PUT";
  call.path = "/box/a%20b";
  call.query = {{"comp", "block"}, {"blockid", "MQ=="}};
  call.headers = {{"Content-Type", "text/plain"}, {"Range", "bytes=0-9"}};
  call.body = "hello";
  SignAzure(call, account, absl::FromCivil(absl::CivilSecond(2026, 1, 2), absl::UTCTimeZone()));
  const std::string text =
      "PUT\n\n\n5\n\ntext/plain\n\n\n\n\n\nbytes=0-9\n"
      "x-ms-date:Fri, 02 Jan 2026 00:00:00 GMT\nx-ms-version:2021-08-06\n"
      "/myaccount/box/a%20b\nblockid:MQ==\ncomp:block";
  EXPECT_EQ(GetHeader(call, "Authorization"),
            "SharedKey myaccount:" + absl::Base64Escape(HmacSha256("a secret", text)));
}

TEST(AzureSignatureTest, ParsesConnectionStrings) {
  const std::string key = absl::Base64Escape("key");
  EXPECT_EQ(*ParseConnectionString("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" +
                                   key + ";EndpointSuffix=core.windows.net"),
            (AzureAccount{"https://a.blob.core.windows.net", "a", "key", ""}));
  EXPECT_EQ(*ParseConnectionString("BlobEndpoint=http://127.0.0.1:1/a/;AccountName=a;"
                                   "SharedAccessSignature=?sv=1&sig=x%3D"),
            (AzureAccount{"http://127.0.0.1:1/a", "a", "", "sv=1&sig=x%3D"}));
  EXPECT_EQ(ParseConnectionString("AccountKey=" + key).status().message(),
            "checkpoint_storage: connection_string has neither AccountName nor BlobEndpoint");
  EXPECT_EQ(ParseAccountUrl("ftp://a", "").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseAccountUrl("https://a.blob.core.windows.net", "no base64!").status().message(),
            "checkpoint_storage: the account key is not valid base64; copy it from the account's "
            "access keys");
}

TEST(EncodeTest, ReadsXmlValues) {
  const std::string xml = "<L><Key>a&amp;b</Key><Key>&lt;c&gt;</Key></L>";
  EXPECT_EQ(XmlValues(xml, "Key"), (std::vector<std::string>{"a&b", "<c>"}));
  EXPECT_EQ(XmlValue(xml, "Absent"), "");
}

}  // namespace
}  // namespace det::objects
