// RunTrialMain: the outermost function of a trial's process, where exceptions are handled.
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/controller.h"
#include "trial_api/cpp/torch/random_source.h"
#include "trial_api/cpp/torch/trial.h"

namespace det {
namespace {

constexpr char kUsage[] =
    "Train this trial off the cluster. On the cluster the experiment sets these options.\n"
    "  --config FILE         experiment configuration file (YAML)\n"
    "  --hparam NAME=VALUE   override a hyperparameter; repeatable\n"
    "  --max-length LENGTH   training length, such as \"3 epochs\" or \"500 batches\"\n"
    "  --checkpoint-dir DIR  checkpoint directory (default: ./checkpoints)\n"
    "  --restore UUID        start from the checkpoint with this UUID\n"
    "  --seed N              override the random seed\n";

// The process must end as with any other failure.
constexpr char kNoException[] =
    "the Trial threw an object that is not a std::exception; throw det::Error instead";

// Errors of failed ranks are printed before those of PeerGone, so that the cause comes first in the
// log.
constexpr std::chrono::milliseconds kAfterTheCause(300);

void PrintError(const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "ERROR: %s\n", message.c_str());
  std::fflush(stderr);
}

// Does not call exit(), because a thread may still wait for a peer inside the communicator.
[[noreturn]] void End(int code) { std::_Exit(code); }

// Every step allocates and frees the same megabytes for activations. By default, the C library
// returns them to the kernel and gets them again, zeroed, page by page: a sixth of the example's
// time.
void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the maximum value
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

void Train(Context& context, const TrialFactory& make_trial) {
  if (context.training().profiling) context.profiler().On();
  TrialContext trial_context(context);
  trial::SeedTorch(context.seed(), trial_context.readers().rank, trial_context.device());
  const std::unique_ptr<Trial> trial = make_trial(trial_context);
  trial::Controller controller(trial_context, *trial);
  try {
    controller.Run();
  } catch (...) {
    context.tensorboard().Finish();  // The points before a failure are the most interesting ones.
    throw;
  }
  context.profiler().Off();
  context.metrics().Flush();
  context.tensorboard().Finish();
}

// A failure that has been printed.
struct Printed {};

// Printed before the connections are closed: afterwards the other ranks report that this one is
// gone.
[[noreturn]] void Fail(Context& context, const std::string& message) {
  PrintError(message);
  context.ReportFailure(message);
  throw Printed();
}

void RunRank(const Context::OffCluster& off_cluster, const Ranks& ranks,
             const TrialFactory& make_trial) {
  const std::unique_ptr<Context> context = Context::FromEnvironment(off_cluster, ranks);
  try {
    Train(*context, make_trial);
  } catch (const InvalidHp& error) {
    if (!context->on_cluster()) throw;
    PrintError(std::string("invalid hyperparameters: ") + error.what());
    context->ReportInvalidHp(error.what());
  } catch (const PeerGone&) {
    throw;  // The failure of the peer is the reason.
  } catch (const c10::Error& error) {
    Fail(*context, error.what_without_backtrace());
  } catch (const std::exception& error) {
    Fail(*context, error.what());
  } catch (...) {
    Fail(*context, kNoException);
  }
}

// An exception of `run` ends the process, on any thread.
void EndIfItFails(const std::function<void()>& run) {
  try {
    return run();
  } catch (const Printed&) {
    End(1);
  } catch (const PeerGone& error) {
    std::this_thread::sleep_for(kAfterTheCause);
    PrintError(error.what());
    End(kPeerGoneExit);
  } catch (const c10::Error& error) {
    PrintError(error.what_without_backtrace());
  } catch (const std::exception& error) {
    PrintError(error.what());
  } catch (...) {
    PrintError(kNoException);
  }
  End(1);
}

void Run(int argc, char** argv, const TrialFactory& make_trial) {
  KeepFreedMemory();
  // One thread per slot computes; a second pool for independent operators would only compete with
  // it.
  at::set_num_interop_threads(1);
  const Context::OffCluster off_cluster = Context::ParseArguments(argc, argv);
  const std::vector<Ranks> ranks = Context::RanksOfProcess(off_cluster);
  if (ranks.size() == 1) return RunRank(off_cluster, ranks.front(), make_trial);
  std::vector<std::thread> threads;
  for (const Ranks& one : ranks) {
    threads.emplace_back([&, one] {
      // They draw the same random numbers as in separate processes.
      const trial::OwnRandomSource own;
      EndIfItFails([&] { RunRank(off_cluster, one, make_trial); });
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int RunTrialMain(int argc, char** argv, const TrialFactory& make_trial) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  EndIfItFails([&] { Run(argc, argv, make_trial); });
  return 0;
}

}  // namespace det
