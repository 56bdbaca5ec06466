// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The comparison of merge functions with a whole program as its body. The body is `main`, and the
// printed text is the result. The source of the program is compiled without changes. The option
// --wrap of the linker replaces `main` and the constructor and destructor of sim::Backend with
// functions of this file, so every backend of the program is watched. Backends with all digests
// belong to comparisons that the program makes itself, and stay unwatched.
#include "belfry/error.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/compared_body.h"
#include "function_comparison.h"
#include "watched_run.h"

#include <algorithm>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing {

// The linker's names of the wrapped functions.
int program_main() __asm__("__real_main");
void make_backend(sim::Backend* backend, const sim::Options& options, CallSite site) __asm__(
    "__real__ZN6belfry3sim7BackendC1ERKNS0_7OptionsENS_8CallSiteE");
void destroy_backend(sim::Backend* backend) __asm__("__real__ZN6belfry3sim7BackendD1Ev");

// The replacements.
int compare_program(int count, char** arguments) __asm__("__wrap_main");
void make_watched(sim::Backend* backend, const sim::Options& options, CallSite site) __asm__(
    "__wrap__ZN6belfry3sim7BackendC1ERKNS0_7OptionsENS_8CallSiteE");
void destroy_watched(sim::Backend* backend) __asm__("__wrap__ZN6belfry3sim7BackendD1Ev");

namespace {

// The current run of the program.
struct Watch {
  int functions_of = 0;
  int most_devices = 0;
  std::vector<const sim::Backend*> backends;
  WatchedRun run;
  std::exception_ptr failure;  // Of a destructor, which must not throw.
};

Watch& watch() {
  static Watch watch;
  return watch;
}

// The printed text and the exit status.
std::string run_program() {
  std::ostringstream output;
  std::streambuf* const console = std::cout.rdbuf(output.rdbuf());
  const int status = program_main();
  std::cout.rdbuf(console);
  if (watch().failure != nullptr) {
    std::rethrow_exception(std::exchange(watch().failure, nullptr));
  }
  if (!watch().backends.empty()) throw std::logic_error("a backend outlives the program");
  return output.str() + "status " + std::to_string(status);
}

// The backend of a body is unused: a program makes its own.
std::string body_of_program(sim::Backend& /*unused*/) { return run_program(); }

// The code of the comparison's error; empty for no error.
std::string outcome() {
  run_program();
  const int replicas = watch().most_devices;
  if (replicas < 2) throw std::logic_error("the program has no backend of two devices");
  sim::Backend unused{watched_options({}, 0)};
  BodyOf body(body_of_program);
  const auto run = [&](int functions_of) {
    watch().run = {};
    watch().functions_of = functions_of;
    body.run(unused);
    return std::exchange(watch().run, {});
  };
  try {
    compare_runs(replicas, body, run, CallSite::here());
  } catch (const Error& error) {
    std::cout << error.what() << '\n';
    return to_string(error.code());
  }
  return {};
}

}  // namespace

void make_watched(sim::Backend* backend, const sim::Options& options, CallSite site) {
  if (options.digests == sim::Digests::kAll) return make_backend(backend, options, site);
  // Backends with fewer devices take the functions of replica 0.
  const int wanted = watch().functions_of < options.devices ? watch().functions_of : 0;
  make_backend(backend, watched_options(options, wanted), site);
  watch().backends.push_back(backend);
  watch().most_devices = std::max(watch().most_devices, options.devices);
}

void destroy_watched(sim::Backend* backend) {
  if (std::erase(watch().backends, backend) > 0) {
    try {
      add_log(*backend, watch().run, {});
    } catch (...) {
      watch().failure = std::current_exception();
    }
  }
  destroy_backend(backend);
}

// The argument is the code of the expected error. Without an argument, no error is expected.
int compare_program(int count, char** arguments) {
  const std::string wanted = count > 1 ? arguments[1] : "";
  const std::string found = outcome();
  if (found == wanted) return 0;
  std::cout << "found " << (found.empty() ? "nothing" : found) << ", expected "
            << (wanted.empty() ? "nothing" : wanted) << '\n';
  return 1;
}

}  // namespace belfry::testing
