// The log's level while the process runs. Any thread.
#ifndef BASE_LOG_LEVEL_H_
#define BASE_LOG_LEVEL_H_

#include "base/log.h"

namespace det::base {

// Of what InitLog() set, the level alone, from now on.
void SetLogLevel(LogLevel level);
LogLevel CurrentLogLevel();

}  // namespace det::base

#endif  // BASE_LOG_LEVEL_H_
