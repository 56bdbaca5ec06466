// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "demo_page.h"

#include "belfry/trace.h"
#include "lessons.h"
#include "page/page.h"

#include <fmt/format.h>

#include <filesystem>

namespace belfry::tool {

void write_demo_page(const demo::DemoOptions& options, const std::string& page, Console& console) {
  const auto trace = std::filesystem::path(page).replace_extension(".jsonl").string();
  TraceFile file(trace, {.program = "a step of the demo"});
  trace_first_step(options, options.replicas, file);
  file.close();
  const PageSize lines = write_page({.traces = {trace}, .page = page});
  console.result(fmt::format("page       {}: {} steps of {}", page, lines.steps, trace));
}

}  // namespace belfry::tool
