// The patterns of triggers on log lines, as many as a workspace has: looked for all at once.
//
// Filled and compiled by one thread; then Match by any. Does no I/O.
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

  // One that does not compile finds nothing.
  void Add(int32_t trigger, const std::string& regex);
  // Ends what Add began.
  void Compile();

  // The triggers of which the line has a part that matches, in the order in which they were added.
  std::vector<int32_t> Match(const std::string& line) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_PATTERN_SET_H_
