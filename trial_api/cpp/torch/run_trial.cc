// RunTrialMain: the outermost frame of a trial's process, where exceptions end.
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
    "Trains this trial off the cluster; on the cluster, the experiment decides.\n"
    "  --config FILE         experiment configuration (YAML)\n"
    "  --hparam NAME=VALUE   a hyperparameter in place of the configuration's; repeatable\n"
    "  --max-length LENGTH   \"3 epochs\", \"500 batches\" or \"10000 records\"\n"
    "  --checkpoint-dir DIR  where checkpoints go (./checkpoints)\n"
    "  --restore UUID        start from this checkpoint below --checkpoint-dir\n"
    "  --seed N              in place of the configuration's\n";

// Whatever it is, its process must end as that of any other failure.
constexpr char kNoException[] =
    "the Trial threw something that is no std::exception; throw det::Error instead";

// The rank that failed speaks first, so that its error is the first of the log.
constexpr std::chrono::milliseconds kAfterTheCause(300);

void PrintError(const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "ERROR: %s\n", message.c_str());
  std::fflush(stderr);
}

// Not by exit(): a thread may still wait for a peer inside of the communicator.
[[noreturn]] void End(int code) { std::_Exit(code); }

// Every step takes and frees the same megabytes for activations. By default, the C library gives
// them back to the kernel and gets them again, zeroed, page by page: a sixth of the example's time.
void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the greatest it takes
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
    context.tensorboard().Finish();  // The points before a failure are those one looks for.
    throw;
  }
  context.profiler().Off();
  context.metrics().Flush();
  context.tensorboard().Finish();
}

// A failure that has been said.
struct Said {};

// While the connections are still there: behind their end the other ranks say that they miss this
// one.
[[noreturn]] void Fail(Context& context, const std::string& message) {
  PrintError(message);
  context.ReportFailure(message);
  throw Said();
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
    throw;  // What ended the peer is the reason.
  } catch (const c10::Error& error) {
    Fail(*context, error.what_without_backtrace());
  } catch (const std::exception& error) {
    Fail(*context, error.what());
  } catch (...) {
    Fail(*context, kNoException);
  }
}

// Whatever `run` throws is the end of the process, from any thread.
void EndIfItFails(const std::function<void()>& run) {
  try {
    return run();
  } catch (const Said&) {
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
  // One thread per slot computes; a second pool for independent operators would only take turns.
  at::set_num_interop_threads(1);
  const Context::OffCluster off_cluster = Context::ParseArguments(argc, argv);
  const std::vector<Ranks> ranks = Context::RanksOfProcess(off_cluster);
  if (ranks.size() == 1) return RunRank(off_cluster, ranks.front(), make_trial);
  std::vector<std::thread> threads;
  for (const Ranks& one : ranks) {
    threads.emplace_back([&, one] {
      const trial::OwnRandomSource own;  // They draw what they would draw in processes.
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
