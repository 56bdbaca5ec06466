// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Runs a program, or compares merge functions with the whole program as the body. The body is the
// program's `main`, and the printed text is the result. The option --wrap of the linker replaces
// the constructor and destructor of sim::Backend with functions of this file, so every backend of
// a compared program is watched. Backends with all digests belong to comparisons that the program
// makes itself, and stay unwatched.
//
//     RUNNER PROGRAM [argument ...]
//     RUNNER --as-body PROGRAM [code]
#include "belfry/error.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/compared_body.h"
#include "function_comparison.h"
#include "runner/entry.h"
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
void make_backend(sim::Backend* backend, const sim::Options& options, CallSite site) __asm__(
    "__real__ZN6belfry3sim7BackendC1ERKNS0_7OptionsENS_8CallSiteE");
void destroy_backend(sim::Backend* backend) __asm__("__real__ZN6belfry3sim7BackendD1Ev");

// The replacements.
void make_watched(sim::Backend* backend, const sim::Options& options, CallSite site) __asm__(
    "__wrap__ZN6belfry3sim7BackendC1ERKNS0_7OptionsENS_8CallSiteE");
void destroy_watched(sim::Backend* backend) __asm__("__wrap__ZN6belfry3sim7BackendD1Ev");

namespace {

// The current run of the program.
struct Watch {
  const Entry* compared = nullptr;  // Nothing if the program runs alone.
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
  const int status = watch().compared->main(1, nullptr);
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
  if (watch().compared == nullptr || options.digests == sim::Digests::kAll) {
    return make_backend(backend, options, site);
  }
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

}  // namespace belfry::testing

using namespace belfry::testing;

// The code is that of the expected error. Without a code, no error is expected.
int main(int count, char** arguments) {
  const std::string first = count > 1 ? arguments[1] : "";
  if (first != "--as-body") return entry_of(first).main(count - 1, arguments + 1);
  watch().compared = &entry_of(count > 2 ? arguments[2] : "");
  const std::string wanted = count > 3 ? arguments[3] : "";
  const std::string found = outcome();
  if (found == wanted) return 0;
  std::cout << "found " << (found.empty() ? "nothing" : found) << ", expected "
            << (wanted.empty() ? "nothing" : wanted) << '\n';
  return 1;
}
