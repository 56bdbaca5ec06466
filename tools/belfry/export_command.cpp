// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "command.h"
#include "hangs/program.h"
#include "trace/perfetto.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace belfry::tool {

void add_export(CLI::App& app, Command& command) {
  const auto options = std::make_shared<ExportOptions>();
  const auto program = std::make_shared<bool>(false);
  CLI::App* sub = app.add_subcommand("export", "Write a trace or dumps for another program");
  CLI::Option_group* format = sub->add_option_group("format");
  format->add_flag("--perfetto", options->perfetto,
                   "A trace for ui.perfetto.dev and chrome://tracing");
  format->add_flag(
      "--program", *program,
      "Dumps of flight recorders as a C++ program for the simulator, with their calls");
  format->require_option(1);
  sub->add_option("FILE", options->files,
                  "Traces, one of each process of a job; or dumps, one of each rank")
      ->required()
      ->option_text("...");
  sub->add_option("-o,--out", options->out, "The file to write")->required()->option_text("OUT");
  sub->callback([options, program, &command] {
    command.action = [options, program](Console& console) {
      if (!*program) return export_perfetto(*options, console);
      hangs::export_program(options->files, options->out, console);
      return ExitCode::kGood;
    };
  });
}

}  // namespace belfry::tool
