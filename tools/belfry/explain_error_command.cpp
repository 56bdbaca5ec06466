// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "command.h"
#include "trace/error_page.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace belfry::tool {

void add_explain_error(CLI::App& app, Command& command) {
  const auto options = std::make_shared<ExplainErrorOptions>();
  CLI::App* sub = app.add_subcommand(
      "explain-error", "Tell what an error means and what to do, or what a rule says");
  sub->add_option("CODE", options->code,
                  "BF-014, 14 or kMergeNested, or the rule SEM-12; without a code: a list")
      ->option_text("CODE");
  sub->add_flag("--json", options->json, "One object of JSON");
  sub->callback([options, &command] {
    command.action = [options](Console& console) { return explain_error(*options, console); };
  });
}

}  // namespace belfry::tool
