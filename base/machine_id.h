// Identifies the machine on which this process runs. Any thread.
#ifndef BASE_MACHINE_ID_H_
#define BASE_MACHINE_ID_H_

#include <string>

namespace det::base {

// Returns the same text in all processes that share a kernel and a network namespace, hence the
// loopback interface, until the machine restarts. Empty if the system does not say.
std::string GetMachineId();

}  // namespace det::base

#endif  // BASE_MACHINE_ID_H_
