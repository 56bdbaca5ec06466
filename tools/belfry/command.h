// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "console.h"
#include "exit_code.h"

#include <functional>

namespace CLI {
class App;
}

namespace belfry::tool {

/// The command of the command line. Each `add_` function below adds a command to the parser; when
/// the parser finds the command, `action` is set. The action owns the options of the command.
struct Command {
  int argc = 0;           ///< Of the process, for MPI.
  char** argv = nullptr;  ///< The same.
  bool quiet = false;     ///< Results alone.
  std::function<ExitCode(Console&)> action{};
};

void add_demo(CLI::App& app, Command& command);
void add_diff(CLI::App& app, Command& command);
void add_explain(CLI::App& app, Command& command);
void add_explain_error(CLI::App& app, Command& command);
void add_export(CLI::App& app, Command& command);
void add_view(CLI::App& app, Command& command);

}  // namespace belfry::tool
