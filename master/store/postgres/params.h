// Conversion of C++ values to parameters of SQL statements. Called by the sources of this folder on
// any thread. Never fails: text that PostgreSQL would reject is sanitized.
#ifndef MASTER_STORE_POSTGRES_PARAMS_H_
#define MASTER_STORE_POSTGRES_PARAMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/id.h"
#include "master/core/model/value.h"
#include "master/store/postgres/connection.h"

namespace det::store {

Param ToParam(int64_t value);
inline Param ToParam(int value) { return ToParam(int64_t{value}); }
inline Param ToParam(uint32_t value) { return ToParam(int64_t{value}); }
Param ToParam(bool value);
Param ToParam(double value);
Param ToParam(std::string_view text);
inline Param ToParam(const char* text) { return ToParam(std::string_view(text)); }
inline Param ToParam(const std::string& text) { return ToParam(std::string_view(text)); }
Param ToParam(absl::Time time);
// Microseconds.
inline Param ToParam(absl::Duration duration) {
  return ToParam(absl::ToInt64Microseconds(duration));
}
// JSON text.
Param ToParam(const model::Value& value);

template <class Tag, class Rep>
Param ToParam(const base::Id<Tag, Rep>& id) {
  return ToParam(id.value());
}
template <class T>
Param ToParam(const std::optional<T>& value) {
  return value ? ToParam(*value) : Param{};
}

// Raw bytes, for a bytea column.
Param Binary(std::string bytes);

template <class... T>
Params MakeParams(const T&... values) {
  return {ToParam(values)...};
}

// Builds a PostgreSQL array; cast it in the statement: "$1::int[]".
class ArrayBuilder {
 public:
  void Add(const Param& value);
  Param Finish() &&;

 private:
  std::string text_ = "{";
};

template <class T>
Param ToArray(const std::vector<T>& values) {
  ArrayBuilder array;
  for (const T& value : values) array.Add(ToParam(value));
  return std::move(array).Finish();
}

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_PARAMS_H_
