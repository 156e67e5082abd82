#include "master/api/idempotency/idempotency_store.h"

#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "master/api/common/serialized.h"
#include "master/auth/tokens.h"
#include "master/store/interfaces/in_doubt.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

namespace det::api {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr size_t kLongestKey = 255;

// Whether the same request would fare the same: what may come right by itself is asked again.
bool IsForGood(absl::StatusCode code) {
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

bool HoldsSecret(const Message& response) {
  const FieldDescriptor* token = response.GetDescriptor()->FindFieldByName("token");
  return token != nullptr && response.GetReflection()->HasField(response, token);
}

}  // namespace

std::string FirstAnswers::HashOf(const Message& request) {
  // A hash of a password, quickly made, would be a way to guess it.
  const FieldDescriptor* password = request.GetDescriptor()->FindFieldByName("password");
  if (password == nullptr) return auth::Sha256Hex(Serialized(request));
  const std::unique_ptr<Message> copy(request.New());
  copy->CopyFrom(request);
  copy->GetReflection()->ClearField(copy.get(), password);
  return auth::Sha256Hex(Serialized(*copy));
}

absl::StatusOr<std::optional<absl::Status>> FirstAnswers::Begin(const Ask& ask, Message* response) {
  if (ask.key.size() > kLongestKey) {
    return absl::InvalidArgumentError(absl::StrCat("Idempotency-Key: at most ", kLongestKey,
                                                   " characters, found ", ask.key.size()));
  }
  {
    std::lock_guard lock(mutex_);
    if (!under_way_.emplace(ask.user, ask.key).second) {
      return absl::AbortedError(
          "a request under this Idempotency-Key is under way; ask again in a moment");
    }
  }
  const auto leave = [&] {
    std::lock_guard lock(mutex_);
    under_way_.erase({ask.user, ask.key});
  };
  const auto first = store_.GetAnswer(ask.user, ask.key, clock_.Now() - kAnswerLives);
  if (first.ok() && !first->has_value()) return std::nullopt;
  leave();
  if (!first.ok()) return first.status();
  const store::AnswerRecord& answer = **first;
  if (answer.method != ask.method || answer.request != ask.request) {
    return absl::InvalidArgumentError(
        absl::StrCat("this Idempotency-Key was used for another request, of ", answer.method,
                     ", within the last 24 hours; make a new key for a new request"));
  }
  if (!response->ParseFromString(answer.response)) {
    return absl::InternalError("the first answer under this Idempotency-Key cannot be read");
  }
  // As a value, not as the failure of this call.
  return std::optional<absl::Status>(
      absl::Status(static_cast<absl::StatusCode>(answer.code), answer.message));
}

void FirstAnswers::End(const Ask& ask, const absl::Status& status, const Message& response) {
  const bool doubt = store::IsInDoubt(status);  // asked again it might be done twice
  if (doubt || IsForGood(status.code())) {
    store::AnswerRecord answer;
    answer.user = ask.user;
    answer.key = ask.key;
    answer.method = ask.method;
    answer.request = ask.request;
    answer.at = clock_.Now();
    answer.code = static_cast<int>(doubt ? absl::StatusCode::kDataLoss : status.code());
    answer.message = std::string(status.message());
    if (status.ok() && HoldsSecret(response)) {
      answer.code = static_cast<int>(absl::StatusCode::kAlreadyExists);
      answer.message =
          "a token was made under this Idempotency-Key, and is not shown twice; revoke it and make "
          "another, under another key";
    } else if (status.ok()) {
      answer.response = Serialized(response);
    }
    const absl::Status kept = store_.PutAnswer(answer, answer.at - kAnswerLives);
    if (!kept.ok()) {
      DET_LOG(WARNING) << "a first answer is not kept" << base::Field("method", ask.method)
                       << base::Field("error", kept.message());
    }
  }
  std::lock_guard lock(mutex_);
  under_way_.erase({ask.user, ask.key});
}

}  // namespace det::api
