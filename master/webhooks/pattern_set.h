// The log patterns of all triggers of a workspace, matched in one scan.
//
// Filled and compiled by one thread; then Match may be called on any thread. Does no I/O.
#ifndef MASTER_WEBHOOKS_PATTERN_SET_H_
#define MASTER_WEBHOOKS_PATTERN_SET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace det::webhooks {

class PatternSet {
 public:
  PatternSet();
  PatternSet(PatternSet&&) noexcept;
  ~PatternSet();

  // A pattern that does not compile matches nothing.
  void Add(int32_t trigger, const std::string& regex);
  // Must be called after the last Add.
  void Compile();

  // The triggers whose pattern matches a part of the line, in the order of Add.
  std::vector<int32_t> Match(const std::string& line) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_PATTERN_SET_H_
