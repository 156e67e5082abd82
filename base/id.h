// Strongly typed ids: an ExperimentId is not a TrialId, though both hold a number. Used on any
// thread. Does not allocate ids; the owner of the objects does. PURE.
//
//   using TrialId = base::Id<struct TrialIdTag, int32_t>;
//   using CheckpointId = base::Id<struct CheckpointIdTag, std::string>;
#ifndef BASE_ID_H_
#define BASE_ID_H_

#include <compare>
#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

namespace det::base {

template <class Tag, class Rep>
class Id {
 public:
  using RepType = Rep;

  constexpr Id() = default;  // Zero or the empty string: no id.
  constexpr explicit Id(Rep value) : value_(std::move(value)) {}

  constexpr const Rep& value() const { return value_; }

  friend constexpr bool operator==(const Id&, const Id&) = default;
  friend constexpr auto operator<=>(const Id&, const Id&) = default;

  template <class H>
  friend H AbslHashValue(H state, const Id& id) {
    return H::combine(std::move(state), id.value_);
  }

  friend std::string ToString(const Id& id) {
    if constexpr (std::is_same_v<Rep, std::string>) {
      return id.value_;
    } else {
      return std::to_string(id.value_);
    }
  }

  friend std::ostream& operator<<(std::ostream& out, const Id& id) { return out << id.value_; }

 private:
  Rep value_{};
};

}  // namespace det::base

template <class Tag, class Rep>
struct std::hash<det::base::Id<Tag, Rep>> {
  std::size_t operator()(const det::base::Id<Tag, Rep>& id) const {
    return std::hash<Rep>{}(id.value());
  }
};

#endif  // BASE_ID_H_
