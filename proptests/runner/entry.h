// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::testing {

/// A program of a runner: a name, and the function that is `main` in the program's source. The
/// entry of each program is made before the `main` of the runner starts.
struct Entry {
  template <class Main>
  Entry(std::string name, Main* main);

  std::string name;
  /// Takes the name and the arguments of the program, and returns the exit status.
  std::function<int(int count, char** arguments)> main;
};

/// The programs of the runner, in no order.
std::vector<const Entry*>& entries();

/// The program of a name. For an unknown name, prints all names and ends the process with status 2.
const Entry& entry_of(const std::string& name);

template <class Main>
Entry::Entry(std::string given, Main* program) : name(std::move(given)) {
  main = [program](int count, char** arguments) {
    const auto run = [&] {
      if constexpr (std::is_invocable_v<Main*, int, char**>) {
        return program(count, arguments);
      } else {
        return program();
      }
    };
    if constexpr (std::is_void_v<decltype(run())>) {
      run();
      return 0;
    } else {
      return run();
    }
  };
  entries().push_back(this);
}

}  // namespace belfry::testing
