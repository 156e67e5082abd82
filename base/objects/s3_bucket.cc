#include "base/objects/s3_bucket.h"

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/objects/cached_token.h"
#include "base/objects/credential_util.h"
#include "base/objects/encode.h"
#include "base/objects/rest_client.h"
#include "base/objects/s3_credentials.h"
#include "base/objects/s3_signature.h"
#include "base/status_macros.h"

namespace det::objects {
namespace {

class S3Signer final : public Signer {
 public:
  explicit S3Signer(S3Keys given) : credentials_(std::move(given)) {}

  absl::Status Sign(Call& call, const std::string& host, absl::Time now) override {
    DET_ASSIGN_OR_RETURN(const S3Keys keys, credentials_.Get(now));
    SignS3(call, host, keys, region_, now);
    return absl::OkStatus();
  }
  void RefreshCredentials() override { credentials_.Invalidate(); }

  // Signs for another region from now on.
  void SetRegion(const std::string& region) { region_ = region; }
  const std::string& region() const { return region_; }

 private:
  S3Credentials credentials_;
  std::string region_ = S3Region();
};

class GoogleSigner final : public Signer {
 public:
  absl::Status Sign(Call& call, const std::string&, absl::Time now) override {
    DET_ASSIGN_OR_RETURN(const std::string token, token_.Get(now));
    if (!token.empty()) call.headers.emplace_back("Authorization", "Bearer " + token);
    return absl::OkStatus();
  }
  void RefreshCredentials() override { token_.Invalidate(); }

 private:
  CachedToken token_{FetchGoogleToken};
};

std::string MakeAddress(const std::string& region) {
  return absl::StrCat("https://s3.", region, ".amazonaws.com");
}

class S3Bucket final : public Bucket {
 public:
  // `address` is empty for Amazon. `s3` is `signer` if the region is part of the signature,
  // otherwise null.
  S3Bucket(const std::string& address, const std::string& bucket, std::unique_ptr<Signer> signer,
           S3Signer* s3, RetryPolicy retry_policy)
      : is_amazons_(address.empty()),
        path_("/" + PercentEncodePath(bucket)),
        client_(is_amazons_ ? MakeAddress(S3Region()) : address, "bucket " + bucket,
                std::move(signer), retry_policy),
        s3_(s3) {}

  absl::Status Put(const std::string& key, absl::string_view content) override {
    Call call = MakeCall("PUT", key);
    call.headers = {{"Content-Type", "application/octet-stream"}};
    call.body = content;
    return SendChecked("write " + key, call).status();
  }

  absl::Status PutFile(const std::string& key, const std::string& path) override {
    DET_ASSIGN_OR_RETURN(const std::optional<std::string> content, ReadSmallFile(path));
    if (content) return Put(key, *content);
    Call begin = MakeCall("POST", key);
    begin.query = {{"uploads", ""}};
    DET_ASSIGN_OR_RETURN(const HttpResponse begun, SendChecked("write " + key, begin));
    const std::string upload = XmlValue(begun.body, "UploadId");
    absl::Status done = PutParts(key, path, upload);
    // The response to the completed upload may have been lost; the retry then finds no upload.
    if (absl::IsNotFound(done) && IsUploaded(key, path)) return absl::OkStatus();
    if (done.ok()) return done;
    Call abort = MakeCall("DELETE", key);
    abort.query = {{"uploadId", upload}};
    (void)client_.Send(abort);
    return done;
  }

  absl::StatusOr<std::string> Read(const std::string& key, int64_t offset,
                                   int64_t length) override {
    Call call = MakeCall("GET", key);
    call.headers = {{"Range", FormatRange(offset, length)}};
    DET_ASSIGN_OR_RETURN(HttpResponse response, Send(call));
    return client_.ExtractRange("read " + key, std::move(response), offset, length);
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& prefix) override {
    Listing listing;
    do {
      Call call = MakeCall("GET", "");
      call.query = {{"list-type", "2"}, {"prefix", prefix}};
      if (!listing.next().empty()) call.query.emplace_back("continuation-token", listing.next());
      DET_ASSIGN_OR_RETURN(const HttpResponse response, SendChecked("list " + prefix, call));
      DET_RETURN_IF_ERROR(listing.Add(XmlValues(response.body, "Key"),
                                      XmlValue(response.body, "NextContinuationToken")));
    } while (!listing.next().empty());
    return listing.Take();
  }

  absl::Status Remove(const std::string& key) override {
    const absl::Status done = SendChecked("remove " + key, MakeCall("DELETE", key)).status();
    return absl::IsNotFound(done) ? absl::OkStatus() : done;
  }

 private:
  Call MakeCall(const std::string& method, const std::string& key) const {
    Call call;
    call.method = method;
    call.path = path_;
    if (!key.empty()) absl::StrAppend(&call.path, "/", PercentEncodePath(key));
    return call;
  }

  // Sends again if the server reports that the bucket is in another region.
  absl::StatusOr<HttpResponse> Send(const Call& call) {
    DET_ASSIGN_OR_RETURN(HttpResponse response, client_.Send(call));
    const std::string region = response.header("x-amz-bucket-region");
    if (response.ok() || s3_ == nullptr || region.empty() || region == s3_->region())
      return response;
    s3_->SetRegion(region);
    if (is_amazons_) client_.SetAddress(MakeAddress(region));
    return client_.Send(call);
  }

  absl::StatusOr<HttpResponse> SendChecked(const std::string& operation, const Call& call) {
    DET_ASSIGN_OR_RETURN(HttpResponse response, Send(call));
    DET_RETURN_IF_ERROR(client_.ToStatus(operation, response));
    return response;
  }

  absl::Status PutParts(const std::string& key, const std::string& path,
                        const std::string& upload) {
    std::string parts;
    DET_RETURN_IF_ERROR(
        ForEachPart(path, [&](int number, absl::string_view content) -> absl::Status {
          Call call = MakeCall("PUT", key);
          call.query = {{"partNumber", absl::StrCat(number)}, {"uploadId", upload}};
          call.body = content;
          DET_ASSIGN_OR_RETURN(const HttpResponse response, SendChecked("write " + key, call));
          absl::StrAppend(&parts, "<Part><PartNumber>", number, "</PartNumber><ETag>",
                          response.header("etag"), "</ETag></Part>");
          return absl::OkStatus();
        }));
    const std::string body =
        absl::StrCat("<CompleteMultipartUpload>", parts, "</CompleteMultipartUpload>");
    Call call = MakeCall("POST", key);
    call.query = {{"uploadId", upload}};
    call.body = body;
    return Complete("write " + key, call);
  }

  // S3 may fail to assemble the parts after it has sent status 200; only the body tells.
  absl::Status Complete(const std::string& operation, const Call& call) {
    for (int attempts = 1;; ++attempts) {
      DET_ASSIGN_OR_RETURN(HttpResponse response, Send(call));
      if (response.ok()) {
        if (absl::StrContains(response.body, "<CompleteMultipartUploadResult")) {
          return absl::OkStatus();
        }
        response.status = 500;
      }
      const absl::Status failed = client_.ToStatus(operation, response);
      if (!absl::IsUnavailable(failed) || attempts >= kMaxCompletions) return failed;
      absl::SleepFor(absl::Seconds(attempts));
    }
  }

  // Returns whether the object has the length of the file.
  bool IsUploaded(const std::string& key, const std::string& path) {
    std::error_code error;
    const auto size = static_cast<int64_t>(std::filesystem::file_size(path, error));
    if (error || size == 0) return false;
    const auto last = Read(key, size - 1, 2);
    return last.ok() && last->size() == 1;
  }

  static constexpr int kMaxCompletions = 3;
  const bool is_amazons_;
  const std::string path_;
  RestClient client_;
  S3Signer* const s3_;  // owned by client_
};

}  // namespace

std::unique_ptr<Bucket> MakeS3Bucket(const BucketConfig& config, RetryPolicy retry_policy) {
  auto signer = std::make_unique<S3Signer>(S3Keys{config.access_key, config.secret_key, ""});
  S3Signer* const s3 = signer.get();
  std::string address(absl::StripSuffix(config.endpoint_url, "/"));
  // curl omits the default port, so it must not be signed either.
  const absl::string_view port = absl::StartsWith(address, "https://") ? ":443" : ":80";
  address = std::string(absl::StripSuffix(address, port));
  return std::make_unique<S3Bucket>(address, config.bucket, std::move(signer), s3, retry_policy);
}

std::unique_ptr<Bucket> MakeGoogleBucket(const BucketConfig& config, RetryPolicy retry_policy) {
  std::string address = GetEnv("STORAGE_EMULATOR_HOST", "https://storage.googleapis.com");
  if (!absl::StrContains(address, "://")) address = "http://" + address;
  return std::make_unique<S3Bucket>(std::string(absl::StripSuffix(address, "/")), config.bucket,
                                    std::make_unique<GoogleSigner>(), nullptr, retry_policy);
}

}  // namespace det::objects
