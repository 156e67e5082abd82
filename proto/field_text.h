// Fields of a message as text, as they stand in a path or a query.
//
// Used by http_rule.cc and http_router.cc, on any thread. Never does I/O.
#ifndef PROTO_FIELD_TEXT_H_
#define PROTO_FIELD_TEXT_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace det::proto {

// Sets the field at `path` ("limit", "orderBy", "experiment.id"; proto or JSON names), or appends
// to it when it is repeated. NOT_FOUND when there is no such field; INVALID_ARGUMENT when `text` is
// not one of its values.
absl::Status SetFieldFromText(std::string_view path, std::string_view text,
                              google::protobuf::Message* message);

// The text of a singular field that is set (without presence: has another value than its default).
// NOT_FOUND otherwise.
absl::StatusOr<std::string> FieldToText(std::string_view path,
                                        const google::protobuf::Message& message);

// Puts the field back to its default. Unknown paths are ignored.
void ClearFieldAt(std::string_view path, google::protobuf::Message* message);

// Every field that is set, by JSON name, nested ones with dots. INVALID_ARGUMENT for a map or a
// list of messages, which a query cannot carry.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> FieldsToQuery(
    const google::protobuf::Message& message);

}  // namespace det::proto

#endif  // PROTO_FIELD_TEXT_H_
