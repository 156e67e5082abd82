// The main program of a Trial: includes the user's source, and runs the class in main().
// DET_TRIAL_SOURCE and DET_TRIAL_CLASS are set on the compiler's command line.
#include "det/trial.h"
#include DET_TRIAL_SOURCE

int main(int argc, char** argv) { return det::RunTrial<DET_TRIAL_CLASS>(argc, argv); }
