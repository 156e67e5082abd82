// Converts fields of a message to and from text, as used in paths and queries.
//
// Used by http_rule.cc and http_router.cc, on any thread. Does no I/O.
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
// to it if it is repeated. Returns NOT_FOUND if there is no such field, INVALID_ARGUMENT if `text`
// is not a valid value.
absl::Status SetFieldFromText(std::string_view path, std::string_view text,
                              google::protobuf::Message* message);

// Returns the text of a singular field that is set (without presence: that differs from its
// default). Returns NOT_FOUND otherwise.
absl::StatusOr<std::string> FieldToText(std::string_view path,
                                        const google::protobuf::Message& message);

// Resets the field to its default. Unknown paths are ignored.
void ClearFieldAt(std::string_view path, google::protobuf::Message* message);

// Returns every field that is set, by JSON name, nested ones with dots. Returns INVALID_ARGUMENT
// for a map or a list of messages, which a query cannot contain.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> FieldsToQuery(
    const google::protobuf::Message& message);

}  // namespace det::proto

#endif  // PROTO_FIELD_TEXT_H_
