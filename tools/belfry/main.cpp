// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"
#include "belfry/version.h"
#include "command.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <string>

namespace belfry::tool {
namespace {

// Names a misspelt command; the parser would only report a missing command.
void require_known(const CLI::App& app, const std::string& first) {
  if (first.empty()) return;
  const bool option = first.starts_with('-');
  std::string known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == first) return;
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  if (option && app.get_option_no_throw(first) != nullptr) return;
  throw CLI::ParseError(
      "no " + std::string(option ? "option" : "command") + " '" + first + "'; there is: " + known,
      CLI::ExitCodes::ExtrasError);
}

ExitCode run(const Command& command) {
  ConsoleOptions options = ConsoleOptions::of_process();
  options.quiet = command.quiet;
  Console console(std::cout, std::cerr, options);
  try {
    return command.action(console);
  } catch (const UnreadableFile& error) {
    console.complain(std::string("belfry: ") + error.what());
    return ExitCode::kEnvironment;
  } catch (const UsageError& error) {
    console.complain(std::string("belfry: ") + error.what());
    return ExitCode::kUsage;
  } catch (const Error& error) {
    console.complain(error);
    if (error.code() == ErrorCode::kFileFormat) return ExitCode::kUsage;
    const bool missing = error.code() == ErrorCode::kNoDriver || error.code() == ErrorCode::kFile;
    return missing ? ExitCode::kEnvironment : ExitCode::kMismatch;
  }
}

// A failed write is an error, for example on a full disk.
int finish(ExitCode code) {
  if (std::cout.flush()) return static_cast<int>(code);
  std::cerr << "belfry: standard output could not be written\n";
  return static_cast<int>(ExitCode::kEnvironment);
}

}  // namespace
}  // namespace belfry::tool

int main(int argc, char** argv) {
  using namespace belfry::tool;
  CLI::App app{"belfry: distribution strategies on simulated devices or on GPUs", "belfry"};
  app.set_version_flag("--version", std::string(belfry::version()));
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 ok, 1 a check failed, the program of a trace failed, or runs differ, 2 usage "
      "or "
      "a malformed file, 3 a file or device is missing, or the output cannot be written.");
  Command command{.argc = argc, .argv = argv};
  add_demo(app, command);
  add_explain(app, command);
  add_diff(app, command);
  add_view(app, command);
  add_export(app, command);
  add_explain_error(app, command);
  try {
    require_known(app, argc > 1 ? argv[1] : "");
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return finish(app.exit(error) == 0 ? ExitCode::kGood : ExitCode::kUsage);
  }
  return finish(run(command));
}
