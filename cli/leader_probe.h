// Finds out which of several masters respond: sends GET /health to each, to the next one as soon as
// the earlier ones have been silent for a moment, and returns them in the order in which they
// respond. A master that was stopped or cut off, whose socket still accepts data, delays nobody.
// Created by api_client for one call, on its thread. Ignores what the masters respond.
#ifndef CLI_LEADER_PROBE_H_
#define CLI_LEADER_PROBE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/curl_transfer.h"

namespace det::cli {

class LeaderProbe {
 public:
  // Each URL is "http://host:port", or https. Certificates are not verified: no secret is sent.
  explicit LeaderProbe(const std::vector<std::string>& urls);
  ~LeaderProbe();
  LeaderProbe(const LeaderProbe&) = delete;

  // Returns the index of the next master that responds; nullopt if none is left or the remaining
  // ones have been silent for 10 s. Returns CANCELLED when interrupted.
  absl::StatusOr<std::optional<size_t>> Next();

 private:
  struct Probe {
    std::string url;
    CurlEasy transfer;  // nullptr: not started yet, or finished
    bool responded = false;
    bool ended = false;
  };

  void StartNext();
  void Finish(Probe& probe);
  // Removes the transfers that have ended and returns the index of a probe with a response.
  std::optional<size_t> TakeResponse();

  CurlMulti set_;
  std::vector<Probe> probes_;
  size_t started_ = 0;
  absl::Time next_start_ = absl::InfinitePast();
};

}  // namespace det::cli

#endif  // CLI_LEADER_PROBE_H_
