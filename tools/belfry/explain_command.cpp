// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "command.h"
#include "hangs/dump_reader.h"
#include "hangs/explain_dumps.h"
#include "trace/explain.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace belfry::tool {

void add_explain(CLI::App& app, Command& command) {
  const auto options = std::make_shared<ExplainOptions>();
  CLI::App* sub =
      app.add_subcommand("explain", "Tell the steps of a trace, or why a job hangs, in words");
  sub->add_option("FILE", options->files,
                  "Traces: one, or one of each process of a job; or dumps of flight "
                  "recorders, one of each rank")
      ->required()
      ->option_text("...");
  sub->add_option("--replica", options->replica, "The steps of this replica and of the merges")
      ->option_text("N");
  sub->add_option("--variable", options->variable, "The steps that touch this variable")
      ->option_text("NAME");
  sub->add_option("--around", options->around, "The steps near this one; PROCESS:STEP in a job")
      ->option_text("STEP");
  sub->add_flag("--all", options->all, "Allocations, events and the like too");
  sub->add_flag("--json", options->json, "One object of JSON");
  sub->callback([options, &command] {
    command.action = [options](Console& console) {
      return hangs::are_dumps(options->files)
                 ? hangs::explain_dumps(options->files, options->json, console)
                 : explain(*options, console);
    };
  });
}

}  // namespace belfry::tool
