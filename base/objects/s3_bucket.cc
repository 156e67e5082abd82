#include "base/objects/s3_bucket.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/objects/encode.h"
#include "base/objects/environment.h"
#include "base/objects/lent_token.h"
#include "base/objects/s3_credentials.h"
#include "base/objects/s3_signature.h"
#include "base/objects/service.h"
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
  void Renew() override { credentials_.Forget(); }

  // The bucket lies elsewhere.
  void Move(const std::string& region) { region_ = region; }
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
  void Renew() override { token_.Forget(); }

 private:
  LentToken token_{AskGoogle};
};

std::string AddressOf(const std::string& region) {
  return absl::StrCat("https://s3.", region, ".amazonaws.com");
}

class S3Bucket final : public Bucket {
 public:
  // `address`: empty for Amazon's own. `s3`: the same signer, where the region counts.
  S3Bucket(const std::string& address, const std::string& bucket, std::unique_ptr<Signer> signer,
           S3Signer* s3, Patience patience)
      : is_amazons_(address.empty()),
        path_("/" + PercentEncodePath(bucket)),
        service_(is_amazons_ ? AddressOf(S3Region()) : address, "bucket " + bucket,
                 std::move(signer), patience),
        s3_(s3) {}

  absl::Status Put(const std::string& key, absl::string_view content) override {
    Call call = Of("PUT", key);
    call.headers = {{"Content-Type", "application/octet-stream"}};
    call.body = content;
    return Ask("write " + key, call).status();
  }

  absl::Status PutFile(const std::string& key, const std::string& path) override {
    DET_ASSIGN_OR_RETURN(const std::optional<std::string> content, ReadSmall(path));
    if (content) return Put(key, *content);
    Call begin = Of("POST", key);
    begin.query = {{"uploads", ""}};
    DET_ASSIGN_OR_RETURN(const HttpAnswer begun, Ask("write " + key, begin));
    const std::string upload = XmlValue(begun.body, "UploadId");
    absl::Status done = PutParts(key, path, upload);
    // The answer that it is there may have been lost, and asking again finds no upload.
    if (absl::IsNotFound(done) && IsThere(key, path)) return absl::OkStatus();
    if (done.ok()) return done;
    Call abort = Of("DELETE", key);
    abort.query = {{"uploadId", upload}};
    (void)service_.Send(abort);
    return done;
  }

  absl::StatusOr<std::string> Read(const std::string& key, int64_t offset,
                                   int64_t length) override {
    Call call = Of("GET", key);
    call.headers = {{"Range", RangeOf(offset, length)}};
    DET_ASSIGN_OR_RETURN(HttpAnswer answer, Send(call));
    return service_.TakeRange("read " + key, std::move(answer), offset, length);
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& prefix) override {
    Listing listing;
    do {
      Call call = Of("GET", "");
      call.query = {{"list-type", "2"}, {"prefix", prefix}};
      if (!listing.next().empty()) call.query.emplace_back("continuation-token", listing.next());
      DET_ASSIGN_OR_RETURN(const HttpAnswer answer, Ask("list " + prefix, call));
      DET_RETURN_IF_ERROR(listing.Add(XmlValues(answer.body, "Key"),
                                      XmlValue(answer.body, "NextContinuationToken")));
    } while (!listing.next().empty());
    return listing.Take();
  }

  absl::Status Remove(const std::string& key) override {
    const absl::Status done = Ask("remove " + key, Of("DELETE", key)).status();
    return absl::IsNotFound(done) ? absl::OkStatus() : done;
  }

 private:
  Call Of(const std::string& method, const std::string& key) const {
    Call call;
    call.method = method;
    call.path = path_;
    if (!key.empty()) absl::StrAppend(&call.path, "/", PercentEncodePath(key));
    return call;
  }

  // Once more where the server says that the bucket lies in another region.
  absl::StatusOr<HttpAnswer> Send(const Call& call) {
    DET_ASSIGN_OR_RETURN(HttpAnswer answer, service_.Send(call));
    const std::string region = answer.header("x-amz-bucket-region");
    if (answer.ok() || s3_ == nullptr || region.empty() || region == s3_->region()) return answer;
    s3_->Move(region);
    if (is_amazons_) service_.MoveTo(AddressOf(region));
    return service_.Send(call);
  }

  absl::StatusOr<HttpAnswer> Ask(const std::string& doing, const Call& call) {
    DET_ASSIGN_OR_RETURN(HttpAnswer answer, Send(call));
    DET_RETURN_IF_ERROR(service_.Judge(doing, answer));
    return answer;
  }

  absl::Status PutParts(const std::string& key, const std::string& path,
                        const std::string& upload) {
    std::string parts;
    DET_RETURN_IF_ERROR(InParts(path, [&](int number, absl::string_view content) -> absl::Status {
      Call call = Of("PUT", key);
      call.query = {{"partNumber", absl::StrCat(number)}, {"uploadId", upload}};
      call.body = content;
      DET_ASSIGN_OR_RETURN(const HttpAnswer answer, Ask("write " + key, call));
      absl::StrAppend(&parts, "<Part><PartNumber>", number, "</PartNumber><ETag>",
                      answer.header("etag"), "</ETag></Part>");
      return absl::OkStatus();
    }));
    const std::string body =
        absl::StrCat("<CompleteMultipartUpload>", parts, "</CompleteMultipartUpload>");
    Call call = Of("POST", key);
    call.query = {{"uploadId", upload}};
    call.body = body;
    return Complete("write " + key, call);
  }

  // S3 may find out that it cannot put the parts together once it has begun to answer: good is only
  // what says so.
  absl::Status Complete(const std::string& doing, const Call& call) {
    for (int tries = 1;; ++tries) {
      DET_ASSIGN_OR_RETURN(HttpAnswer answer, Send(call));
      if (answer.ok()) {
        if (absl::StrContains(answer.body, "<CompleteMultipartUploadResult")) {
          return absl::OkStatus();
        }
        answer.status = 500;
      }
      const absl::Status failed = service_.Judge(doing, answer);
      if (!absl::IsUnavailable(failed) || tries >= kCompletions) return failed;
      absl::SleepFor(absl::Seconds(tries));
    }
  }

  // As long as the file.
  bool IsThere(const std::string& key, const std::string& path) {
    std::error_code error;
    const auto size = static_cast<int64_t>(std::filesystem::file_size(path, error));
    if (error || size == 0) return false;
    const auto last = Read(key, size - 1, 2);
    return last.ok() && last->size() == 1;
  }

  static constexpr int kCompletions = 3;
  const bool is_amazons_;
  const std::string path_;
  Service service_;
  S3Signer* const s3_;  // of service_
};

}  // namespace

std::unique_ptr<Bucket> MakeS3Bucket(const Place& place, Patience patience) {
  auto signer = std::make_unique<S3Signer>(S3Keys{place.access_key, place.secret_key, ""});
  S3Signer* const s3 = signer.get();
  std::string address(absl::StripSuffix(place.endpoint_url, "/"));
  // curl leaves out the port that goes without saying; what is signed must, too.
  const absl::string_view port = absl::StartsWith(address, "https://") ? ":443" : ":80";
  address = std::string(absl::StripSuffix(address, port));
  return std::make_unique<S3Bucket>(address, place.bucket, std::move(signer), s3, patience);
}

std::unique_ptr<Bucket> MakeGoogleBucket(const Place& place, Patience patience) {
  std::string address = Environment("STORAGE_EMULATOR_HOST", "https://storage.googleapis.com");
  if (!absl::StrContains(address, "://")) address = "http://" + address;
  return std::make_unique<S3Bucket>(std::string(absl::StripSuffix(address, "/")), place.bucket,
                                    std::make_unique<GoogleSigner>(), nullptr, patience);
}

}  // namespace det::objects
