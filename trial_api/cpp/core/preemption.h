// Whether the master asks this trial to save and exit.
#ifndef TRIAL_API_CPP_CORE_PREEMPTION_H_
#define TRIAL_API_CPP_CORE_PREEMPTION_H_

namespace det {

class Preemption {
 public:
  virtual ~Preemption() = default;

  // What this rank knows now; costs one atomic load. Ranks may learn at different times: the
  // controller lets them agree before it acts.
  virtual bool Requested() const = 0;
  // Tells the master that the coming exit with code 0 means "preempted". Chief only; else a no-op.
  virtual void Acknowledge() = 0;
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_PREEMPTION_H_
