// The header that users include as "det/trial.h", in the build and in the installed Trial API.
#ifndef TRIAL_API_CPP_TORCH_DET_TRIAL_H_
#define TRIAL_API_CPP_TORCH_DET_TRIAL_H_

#include "trial_api/cpp/torch/trial.h"

#endif  // TRIAL_API_CPP_TORCH_DET_TRIAL_H_
