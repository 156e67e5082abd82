// What --config=tsan does not judge: the system's libraries, which were compiled without it, so that
// it sees their memory change and not their locks. Linked into every test.
extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libgrpc.so\n"
         "called_from_lib:libgpr.so\n"
         "called_from_lib:libabsl_graphcycles_internal.so\n"
         "race:libgrpc.so\n"
         "race:libgpr.so\n"
         "race:libabsl_graphcycles_internal.so\n"
         "race:libabsl_synchronization.so\n";
}
