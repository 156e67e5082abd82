#include "tests/sim/stage.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace det::sim {

void Stage::After(absl::Duration delay, std::function<void()> act) {
  agenda_.emplace(now_ + delay, std::move(act));
}

bool Stage::Step() {
  if (agenda_.empty() || !status_.ok()) return false;
  auto next = agenda_.extract(agenda_.begin());
  now_ = next.key();
  const auto since = static_cast<uint64_t>(absl::ToInt64Nanoseconds(now_ - start_));
  digest_ = (digest_ ^ since ^ rng_.Next()) * 0x9E3779B97F4A7C15u;
  next.mapped()();
  return status_.ok();
}

void Stage::Fail(const std::string& what) { Check(absl::InternalError(what)); }

void Stage::Check(const absl::Status& status) {
  if (status.ok() || !status_.ok()) return;
  status_ = absl::InternalError(absl::StrCat("at ", Clock(), ": ", status.message()));
  Log(absl::StrCat("FAILED: ", status.message()));
}

void Stage::Log(const std::string& what) const {
  if (verbose_) std::fprintf(stderr, "%s  %s\n", Clock().c_str(), what.c_str());
}

std::string Stage::Clock() const {
  return absl::StrFormat("%9.3f s", absl::ToDoubleSeconds(now_ - start_));
}

}  // namespace det::sim
