// Suppressions for --config=tsan, linked into every test. System libraries are not instrumented, so
// ThreadSanitizer sees their memory accesses but not their locks and would report false races.
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
