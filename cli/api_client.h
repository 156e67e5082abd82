// Calls a method of the public API by its name, over HTTP as its own HTTP rule says.
// Made per command; Call and Stream on any thread, which waits. Holds no connection.
// Never prints.
#ifndef CLI_API_CLIENT_H_
#define CLI_API_CLIENT_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/credential.h"
#include "cli/http_client.h"

namespace google::protobuf {
class Message;
}

namespace det::cli {

// Whether an error of ApiClient says that no connection came about.
bool NobodyAnswered(const absl::Status& status);

class ApiClient {
 public:
  // `urls` as by CanonicalUrl, at least one: of one cluster's masters. The first call asks them
  // until one answers that leads, the others go there as long as it does. Nothing but GET /health
  // is sent to one that has not answered yet. Without a credential the calls are nobody's, and a
  // refusal of that is the master's own.
  ApiClient(std::vector<std::string> urls, std::shared_ptr<Credential> credential)
      : urls_(std::move(urls)), credential_(std::move(credential)) {}
  ApiClient(std::vector<std::string> urls, std::string token)
      : ApiClient(std::move(urls), std::make_shared<Credential>(std::move(token))) {}
  ApiClient(std::string url, std::string token)
      : ApiClient(std::vector<std::string>{std::move(url)}, std::move(token)) {}

  // `method` as "ExperimentService.GetExperiment". The refusal of the master comes back with its
  // code and its words; what keeps det from reaching it is UNAVAILABLE and says what to do. Calls
  // again, for a few seconds, while a master that was reached cannot answer: every method may be
  // repeated, as what makes something goes under an Idempotency-Key of this call. With
  // `after_interrupt` an interrupt does not end the wait for an answer (HttpCall):
  // DEADLINE_EXCEEDED and ABORTED then say that the request may have been granted, CANCELLED that
  // it was never sent.
  absl::Status Call(absl::string_view method, const google::protobuf::Message& request,
                    google::protobuf::Message* response,
                    absl::Duration after_interrupt = absl::ZeroDuration()) const;

  // A method that streams. `message` is filled again for each element, then `each` is called; false
  // ends the stream, which is OK. ABORTED when the connection or the master ended it.
  absl::Status Stream(absl::string_view method, const google::protobuf::Message& request,
                      google::protobuf::Message* message, absl::FunctionRef<bool()> each) const;

  // Any request, its answer as it comes; the HTTP status, whatever it is.
  absl::StatusOr<int> Send(const std::string& verb, const std::string& target,
                           const std::string& body, BodySink sink) const;

  // As -m takes them.
  std::string addresses() const { return absl::StrJoin(urls_, ","); }

 private:
  // `ask` at the address that leads, as known or as found among those that answer; else what the
  // first said that was there.
  absl::Status AskEach(absl::FunctionRef<absl::Status(const std::string& url)> ask) const;
  absl::Status CallOnce(const std::string& url, absl::string_view method, const std::string& key,
                        const google::protobuf::Message& request,
                        google::protobuf::Message* response, absl::Duration after_interrupt) const;
  // `ask` again where the refused token could be replaced.
  absl::Status AskSignedIn(absl::FunctionRef<absl::Status()> ask) const;
  std::string token() const { return credential_ == nullptr ? "" : credential_->token(); }
  absl::Status StreamOnce(const std::string& url, absl::string_view method,
                          const google::protobuf::Message& request,
                          google::protobuf::Message* message, absl::FunctionRef<bool()> each) const;

  static constexpr size_t kNobody = ~size_t{0};

  std::vector<std::string> urls_;
  std::shared_ptr<Credential> credential_;
  // Of urls_; copies share it.
  std::shared_ptr<std::atomic<size_t>> leader_ = std::make_shared<std::atomic<size_t>>(kNobody);
};

}  // namespace det::cli

#endif  // CLI_API_CLIENT_H_
