#include "master/store/postgres/params.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "master/store/interfaces/canonical.h"

namespace det::store {

Param ToParam(int64_t value) { return {absl::StrCat(value)}; }

Param ToParam(bool value) { return {value ? "t" : "f"}; }

Param ToParam(double value) {
  if (std::isnan(value)) return {"NaN"};
  if (std::isinf(value)) return {value > 0 ? "Infinity" : "-Infinity"};
  return {absl::StrFormat("%.17g", value)};
}

Param ToParam(std::string_view text) { return {CleanText(text)}; }

Param ToParam(absl::Time time) {
  time = Canonical(time);
  if (time == absl::InfiniteFuture()) return {"infinity"};
  if (time == absl::InfinitePast()) return {"-infinity"};
  return {absl::FormatTime("%E4Y-%m-%d %H:%M:%E6S+00", time, absl::UTCTimeZone())};
}

Param ToParam(const model::Value& value) { return {CleanJson(value)}; }

Param Binary(std::string bytes) { return {std::move(bytes), true}; }

void ArrayBuilder::Add(const Param& value) {
  if (text_.size() > 1) text_.push_back(',');
  if (!value.value) {
    text_.append("NULL");
    return;
  }
  text_.push_back('"');
  for (const char c : *value.value) {
    if (c == '"' || c == '\\') text_.push_back('\\');
    text_.push_back(c);
  }
  text_.push_back('"');
}

Param ArrayBuilder::Finish() && {
  text_.push_back('}');
  return {std::move(text_)};
}

}  // namespace det::store
