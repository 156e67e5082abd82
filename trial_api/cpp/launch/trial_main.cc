// The program of a Trial: the user's source, and a main() that runs the class. DET_TRIAL_SOURCE and
// DET_TRIAL_CLASS come from the command line of the compiler.
#include "det/trial.h"
#include DET_TRIAL_SOURCE

int main(int argc, char** argv) { return det::RunTrial<DET_TRIAL_CLASS>(argc, argv); }
