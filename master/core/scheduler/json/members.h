// Reads the members of a JSON object one by one. Collects all problems with their paths, unknown
// members included. Private to scheduler/json and to simulate, which reads workloads with it. PURE.
#ifndef MASTER_CORE_SCHEDULER_JSON_MEMBERS_H_
#define MASTER_CORE_SCHEDULER_JSON_MEMBERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "master/core/model/value.h"

namespace det::scheduler {

// Problems such as "agents[3].slots: expected an integer >= 0, found \"two\"", in order.
class Problems {
 public:
  void Add(std::string_view path, std::string_view what);
  bool empty() const { return lines_.empty(); }
  // INVALID_ARGUMENT with a line for each of the first kLines problems; OK if there are none.
  absl::Status ToStatus() const;

 private:
  static constexpr size_t kLines = 50;
  std::vector<std::string> lines_;
};

// For messages: `"two"`, `1.5`, `a list`.
std::string Describe(const model::Value& value);

class Members {
 public:
  // `path` is empty for the outermost object; if it ends with ":" ("trace.csv:12:"), a space
  // follows instead of a dot. A value that is not an object is a problem and has no members. The
  // arguments must outlive this.
  Members(const model::Value& value, std::string path, Problems* problems);

  bool is_object() const { return object_ != nullptr; }
  std::string GetPath(std::string_view key) const;
  void Complain(std::string_view key, std::string_view what) const;

  // Returns nullptr if the member is absent or null. Marks the key as known.
  const model::Value* Find(std::string_view key);

  // Each returns whether the member was read; `out` is unchanged if it is absent or invalid.
  bool Read(std::string_view key, bool* out);
  // Reads a string; a number is converted to its digits, because ids are often written so.
  bool Read(std::string_view key, std::string* out);
  bool ReadInt(std::string_view key, int64_t least, int64_t most, int64_t* out);
  bool ReadInt(std::string_view key, int least, int most, int* out);
  bool ReadNumber(std::string_view key, double least, double* out);
  // RFC 3339, or seconds since 1970.
  bool ReadTime(std::string_view key, absl::Time* out);
  // Seconds, or "90s", "2h30m". Not negative.
  bool ReadDuration(std::string_view key, absl::Duration* out);
  bool ReadStrings(std::string_view key, std::vector<std::string>* out);
  bool ReadStrings(std::string_view key, std::map<std::string, std::string>* out);

  // Reads an enumeration value with `parse`, which returns an optional; `names` are listed in
  // messages.
  template <class E, class Parse>
  bool ReadName(std::string_view key, Parse parse, std::string_view names, E* out) {
    std::string text;
    if (!Read(key, &text)) return false;
    const std::optional<E> value = parse(text);
    if (value) {
      *out = *value;
    } else {
      Expected(key, names);
    }
    return value.has_value();
  }

  // Visits each element of a list with its path. A member that is not a list is a problem.
  void ForEach(std::string_view key,
               absl::FunctionRef<void(const model::Value&, const std::string& path)> element);

  // Reports every unknown member.
  void RejectUnknownMembers() const;

 private:
  void Expected(std::string_view key, std::string_view what);

  const model::Value::Object* object_;  // nullptr: not an object
  std::string path_;
  Problems* problems_;
  std::vector<std::string_view> known_;
};

// Returns a string or the digits of a number; nullopt for anything else.
std::optional<std::string> ParseText(const model::Value& value);
// Returns an integer, also one that is written as 4.0 or 2e12.
std::optional<int64_t> ParseInt(const model::Value& value);
// Nullopt for values that ReadTime and ReadDuration do not accept.
std::optional<absl::Time> ParseTime(const model::Value& value);
std::optional<absl::Duration> ParseDuration(const model::Value& value);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_JSON_MEMBERS_H_
