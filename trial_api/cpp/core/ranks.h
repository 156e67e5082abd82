// The position of this process among the processes of its trial.
#ifndef TRIAL_API_CPP_CORE_RANKS_H_
#define TRIAL_API_CPP_CORE_RANKS_H_

namespace det {

struct Ranks {
  int rank = 0;  // 0 to size-1; rank 0 is the chief
  int size = 1;
  int local_rank = 0;  // among the processes on this machine
  int local_size = 1;
  int cross_rank = 0;  // number of this machine
  int cross_size = 1;  // number of machines
  bool is_chief() const { return rank == 0; }
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_RANKS_H_
