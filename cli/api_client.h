// Calls a method of the public API by its name, over HTTP as its own HTTP rule says.
// Made per command; Call and Stream on any thread, which waits. Holds no connection.
// Never prints.
#ifndef CLI_API_CLIENT_H_
#define CLI_API_CLIENT_H_

#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace google::protobuf {
class Message;
}

namespace det::cli {

// Whether an error of ApiClient says that no connection came about.
bool NobodyAnswered(const absl::Status& status);

class ApiClient {
 public:
  // `url` as by CanonicalUrl; an empty token for nobody.
  ApiClient(std::string url, std::string token) : url_(std::move(url)), token_(std::move(token)) {}

  // `method` as "ExperimentService.GetExperiment". The refusal of the master comes back with its
  // code and its words; what keeps det from reaching it is UNAVAILABLE and says what to do. Calls
  // again, for a few seconds, while a master that was reached cannot answer: every method may be
  // repeated.
  absl::Status Call(absl::string_view method, const google::protobuf::Message& request,
                    google::protobuf::Message* response) const;

  // A method that streams. `message` is filled again for each element, then `each` is called; false
  // ends the stream, which is OK. ABORTED when the connection or the master ended it.
  absl::Status Stream(absl::string_view method, const google::protobuf::Message& request,
                      google::protobuf::Message* message, absl::FunctionRef<bool()> each) const;

  const std::string& url() const { return url_; }

 private:
  absl::Status CallOnce(absl::string_view method, const google::protobuf::Message& request,
                        google::protobuf::Message* response) const;
  absl::Status Explain(absl::Status status) const;
  absl::Status Refusal(int http, const std::string& body) const;

  std::string url_;
  std::string token_;
};

}  // namespace det::cli

#endif  // CLI_API_CLIENT_H_
