#ifndef TOOLS_PRECOMPILED_TORCH_H_
#define TOOLS_PRECOMPILED_TORCH_H_

// The part of libtorch that all its users include. A source that includes <torch/torch.h> takes
// three times as long as one that includes a few of these.

#include <torch/nn/module.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>
#include <torch/types.h>

#endif  // TOOLS_PRECOMPILED_TORCH_H_
