#include "master/api/idempotency/idempotency_store.h"

#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "master/api/common/serialize.h"
#include "master/auth/tokens.h"
#include "master/store/interfaces/unknown_commit.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

namespace det::api {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr size_t kMaxKeyBytes = 255;

// Whether the same request would end with the same status. Other requests may be retried.
bool IsPermanent(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return true;
    default:
      return false;
  }
}

bool ContainsSecret(const Message& response) {
  const FieldDescriptor* token = response.GetDescriptor()->FindFieldByName("token");
  return token != nullptr && response.GetReflection()->HasField(response, token);
}

}  // namespace

std::string IdempotencyStore::HashRequest(const Message& request) {
  // A fast hash of a password would make it easy to guess.
  const FieldDescriptor* password = request.GetDescriptor()->FindFieldByName("password");
  if (password == nullptr) return auth::Sha256Hex(SerializeDeterministically(request));
  const std::unique_ptr<Message> copy(request.New());
  copy->CopyFrom(request);
  copy->GetReflection()->ClearField(copy.get(), password);
  return auth::Sha256Hex(SerializeDeterministically(*copy));
}

absl::StatusOr<std::optional<absl::Status>> IdempotencyStore::Begin(const Request& request,
                                                                    Message* response) {
  if (request.key.size() > kMaxKeyBytes) {
    return absl::InvalidArgumentError(absl::StrCat("Idempotency-Key: at most ", kMaxKeyBytes,
                                                   " characters, found ", request.key.size()));
  }
  {
    std::lock_guard lock(mutex_);
    if (!in_progress_.emplace(request.user, request.key).second) {
      return absl::AbortedError(
          "a request with this Idempotency-Key is still running; retry in a moment");
    }
  }
  const auto release = [&] {
    std::lock_guard lock(mutex_);
    in_progress_.erase({request.user, request.key});
  };
  const auto first =
      store_.GetResponse(request.user, request.key, clock_.Now() - kStoredResponseLifetime);
  if (first.ok() && !first->has_value()) return std::nullopt;
  release();
  if (!first.ok()) return first.status();
  const store::StoredResponse& stored = **first;
  if (stored.method != request.method || stored.request != request.request) {
    return absl::InvalidArgumentError(
        absl::StrCat("this Idempotency-Key was used for a different request of ", stored.method,
                     " within the last 24 hours; use a new key for a new request"));
  }
  if (!response->ParseFromString(stored.response)) {
    return absl::InternalError("the stored response for this Idempotency-Key cannot be read");
  }
  // The stored status is a value, not a failure of this call.
  return std::optional<absl::Status>(
      absl::Status(static_cast<absl::StatusCode>(stored.code), stored.message));
}

void IdempotencyStore::End(const Request& request, const absl::Status& status,
                           const Message& response) {
  const bool doubt = store::IsUnknownCommit(status);  // a retry might execute it twice
  if (doubt || IsPermanent(status.code())) {
    store::StoredResponse stored;
    stored.user = request.user;
    stored.key = request.key;
    stored.method = request.method;
    stored.request = request.request;
    stored.at = clock_.Now();
    stored.code = static_cast<int>(doubt ? absl::StatusCode::kDataLoss : status.code());
    stored.message = std::string(status.message());
    if (status.ok() && ContainsSecret(response)) {
      stored.code = static_cast<int>(absl::StatusCode::kAlreadyExists);
      stored.message =
          "a token was created with this Idempotency-Key, and is not shown twice; revoke it and "
          "create another one with a new key";
    } else if (status.ok()) {
      stored.response = SerializeDeterministically(response);
    }
    const absl::Status written = store_.PutResponse(stored, stored.at - kStoredResponseLifetime);
    if (!written.ok()) {
      DET_LOG(WARNING) << "failed to store the response for an idempotency key"
                       << base::Field("method", request.method)
                       << base::Field("error", written.message());
    }
  }
  std::lock_guard lock(mutex_);
  in_progress_.erase({request.user, request.key});
}

}  // namespace det::api
