// The members of a JSON object, taken one by one. What is wrong with any of them is collected with
// its path, and so is every member that nobody asked for.
// Private to scheduler/json and to simulate, which reads workloads by it. PURE.
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

// "agents[3].slots: expected an integer >= 0, found \"two\"", in the order in which they were
// found.
class Problems {
 public:
  void Add(std::string_view path, std::string_view what);
  bool empty() const { return lines_.empty(); }
  // INVALID_ARGUMENT with a line for each, the first kLines of them; OK for none.
  absl::Status ToStatus() const;

 private:
  static constexpr size_t kLines = 50;
  std::vector<std::string> lines_;
};

// For messages: `"two"`, `1.5`, `a list`.
std::string Describe(const model::Value& value);

class Members {
 public:
  // `path` is empty for the outermost; what follows one that ends with ":" ("trace.csv:12:") is set
  // off by a space, not by a dot. What is no object is a problem, and has no members. All
  // that is given must outlive this.
  Members(const model::Value& value, std::string path, Problems* problems);

  bool is_object() const { return object_ != nullptr; }
  std::string PathOf(std::string_view key) const;
  void Complain(std::string_view key, std::string_view what) const;

  // nullptr where it is absent or null. From here on the key is known.
  const model::Value* Find(std::string_view key);

  // Each leaves `out` as it is where the member is absent or wrong, and says whether it was read.
  bool Read(std::string_view key, bool* out);
  // Text; a number stands for its digits, as ids are often written.
  bool Read(std::string_view key, std::string* out);
  bool ReadInt(std::string_view key, int64_t least, int64_t most, int64_t* out);
  bool ReadInt(std::string_view key, int least, int most, int* out);
  bool ReadNumber(std::string_view key, double least, double* out);
  // RFC 3339, or seconds since 1970.
  bool ReadTime(std::string_view key, absl::Time* out);
  // Seconds, or "90s", "2h30m". Not negative.
  bool ReadDuration(std::string_view key, absl::Duration* out);
  bool ReadTexts(std::string_view key, std::vector<std::string>* out);
  bool ReadTexts(std::string_view key, std::map<std::string, std::string>* out);

  // By a function from text to an optional value; `names` is what a message offers.
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

  // Each element of a list, with its path. A member that is no list is a problem.
  void ForEach(std::string_view key,
               absl::FunctionRef<void(const model::Value&, const std::string& path)> element);

  // Complains of every member that was not looked for.
  void RefuseOthers() const;

 private:
  void Expected(std::string_view key, std::string_view what);

  const model::Value::Object* object_;  // nullptr: it is none
  std::string path_;
  Problems* problems_;
  std::vector<std::string_view> known_;
};

// A number's digits or a text; nullopt for anything else.
std::optional<std::string> TextOf(const model::Value& value);
// A whole number, also one that was written as 4.0 or 2e12.
std::optional<int64_t> IntOf(const model::Value& value);
// Nullopt for anything else than what ReadTime, ReadDuration accept.
std::optional<absl::Time> TimeOf(const model::Value& value);
std::optional<absl::Duration> DurationOf(const model::Value& value);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_JSON_MEMBERS_H_
