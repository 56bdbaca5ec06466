// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "command.h"
#include "trace/perfetto.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace belfry::tool {

void add_export(CLI::App& app, Command& command) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* sub = app.add_subcommand("export", "Write a trace in the format of another program");
  sub->add_flag("--perfetto", options->perfetto, "For ui.perfetto.dev and chrome://tracing")
      ->required();
  sub->add_option("FILE", options->files, "Traces: one, or one of each process of a job")
      ->required()
      ->option_text("...");
  sub->add_option("-o,--out", options->out, "The file to write")->required()->option_text("OUT");
  sub->callback([options, &command] {
    command.action = [options](Console& console) { return export_perfetto(*options, console); };
  });
}

}  // namespace belfry::tool
