// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "command.h"
#include "trace/diff.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace belfry::tool {

void add_diff(CLI::App& app, Command& command) {
  const auto options = std::make_shared<DiffOptions>();
  CLI::App* sub = app.add_subcommand("diff", "Tell where the runs of two traces part, and why");
  sub->add_option("A", options->a, "A trace")->required()->option_text("A");
  sub->add_option("B", options->b, "Another trace")->required()->option_text("B");
  sub->add_flag("--json", options->json, "One object of JSON");
  sub->callback([options, &command] {
    command.action = [options](Console& console) { return diff(*options, console); };
  });
}

}  // namespace belfry::tool
