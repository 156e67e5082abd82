// Preemption: whether the master wants this trial to save a checkpoint and exit.
#ifndef TRIAL_API_CPP_CORE_PREEMPTION_H_
#define TRIAL_API_CPP_CORE_PREEMPTION_H_

namespace det {

class Preemption {
 public:
  virtual ~Preemption() = default;

  // Returns whether this rank has received a preemption request; costs one atomic load; any thread.
  // Ranks may receive it at different times; the controller makes them agree before it acts.
  virtual bool Requested() const = 0;
  // Reports to the master that the following exit with code 0 means "preempted". Does nothing on
  // ranks other than the chief. Throws Error.
  virtual void Acknowledge() = 0;
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_PREEMPTION_H_
