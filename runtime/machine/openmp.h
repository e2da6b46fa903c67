// OpenMP as oneDNN knows it. Debian's oneDNN starts its work through libgomp's entry points, a compiler's form of `#pragma omp
// parallel`. A program that has this file defines those entry points itself, and the dynamic linker gives them to oneDNN: its
// work then runs on sheaf's teams (runtime/machine/team.h), as sheaf's own does. libgomp waits as its environment said when it
// was loaded: by default it spins for milliseconds, which on a machine that others use keeps the core from the very thread
// that is waited for, several times in each step.
//
// Whoever else uses OpenMP in the program gets libgomp, as if this weren't here. Where sheaf is part of a shared library, the
// dynamic linker has given oneDNN libgomp before: then sheaf uses that, too.
#pragma once

namespace sheaf {

/// Calls body(data) `shares` times, on the threads that oneDNN's work runs on, and returns when all calls have. Not within
/// such a call.
void openmp_run(int shares, void (*body)(void*), void* data);

/// Of the calling thread's call: its number, and of how many.
struct OpenmpShare {
  int index = 0, count = 1;
};
OpenmpShare openmp_share();

/// Whether the calling thread is in such a call, or in a parallel region of the program's own.
bool in_openmp();

/// Whether oneDNN's work runs on sheaf's teams.
bool serves_openmp();

}  // namespace sheaf
