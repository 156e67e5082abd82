// The text of docs/state_machines.md, from the tables. Called by the generator and its test.
#ifndef MASTER_CORE_EXPERIMENT_STATE_MACHINES_TEXT_H_
#define MASTER_CORE_EXPERIMENT_STATE_MACHINES_TEXT_H_

#include <string>

namespace det::experiment {

std::string StateMachinesText();

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_STATE_MACHINES_TEXT_H_
