// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "command.h"
#include "page/page.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

namespace belfry::tool {
namespace {

ExitCode run(PageOptions options, Console& console) {
  if (options.page.empty()) {
    options.page =
        std::filesystem::path(options.traces.front()).replace_extension(".html").string();
  }
  const PageSize lines = write_page(options);
  const auto left_out = lines.total - lines.steps;
  console.result(fmt::format("{}: {} of {} steps{}", options.page, lines.steps, lines.total,
                             left_out > 0 ? "; --from STEP shows later ones" : ""));
  return ExitCode::kGood;
}

// A complaint of the parser; empty for a number of a step.
std::string complaint_on_step(const std::string& text) {
  std::int64_t step = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  const bool whole = error == std::errc() && end == text.data() + text.size() && step >= 0;
  return whole ? "" : fmt::format("'{}' is none: a step is a whole number from 0", text);
}

}  // namespace

void add_view(CLI::App& app, Command& command) {
  const auto options = std::make_shared<PageOptions>();
  CLI::App* sub = app.add_subcommand("view", "Write a trace as a page to step through");
  sub->add_option("FILE", options->traces, "Traces: one, or one of each process of a job")
      ->required()
      ->option_text("...");
  sub->add_option("-o", options->page, "The page (the name of the first trace with .html)")
      ->option_text("PAGE");
  sub->add_option("--source", options->source_folder,
                  "Show the lines of source that the trace names, from this folder")
      ->option_text("FOLDER")
      ->check(CLI::ExistingDirectory);
  sub->add_option("--from", options->bounds.from,
                  fmt::format("The first step; a page has {} steps (0)", options->bounds.steps))
      ->option_text("STEP")
      ->check(complaint_on_step);
  sub->callback([options, &command] {
    command.action = [options](Console& console) { return run(*options, console); };
  });
}

}  // namespace belfry::tool
