#include "master/core/experiment/state_machines_text.h"

#include "absl/strings/str_cat.h"
#include "master/core/experiment/tables.h"

namespace det::experiment {
namespace {

template <class State, class Event, size_t kRows>
std::string Table(const base::Transition<State, Event> (&table)[kRows]) {
  return base::ToMarkdown(
      table, [](State state) { return std::string(model::ToString(state)); },
      [](Event event) { return std::string(ToString(event)); });
}

}  // namespace

std::string StateMachinesText() {
  return absl::StrCat(
      "# State machines\n\n"
      "This page is generated from the tables in `master/core/experiment/tables.h` by\n"
      "`bazel run //tools:state_machines_doc`; a test checks that it is current. An event without "
      "a row\n"
      "for a state has no effect in that state.\n\n"
      "## Experiment\n\n",
      Table(kExperimentTable), "\n## Trial\n\n", Table(kTrialTable),
      "\n## Task that is not a trial\n\n", Table(kTaskTable), "\n## Allocation\n\n",
      Table(kAllocationTable));
}

}  // namespace det::experiment
