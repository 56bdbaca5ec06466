// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "page/page.h"

#include "belfry/error.h"
#include "exit_code.h"
#include "page/source_lines.h"
#include "trace/trace_job.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace belfry::tool {
namespace {

// Writes the page with a part in the place of each sign, for example `@STYLE@`.
void write(std::ostream& out, const std::string& packed, const std::string& sources) {
  std::string_view rest = kPageHtml;
  for (std::size_t begin = rest.find('@'); begin != rest.npos; begin = rest.find('@')) {
    const std::size_t end = rest.find('@', begin + 1);
    const std::string_view sign = rest.substr(begin + 1, end - begin - 1);
    out << rest.substr(0, begin);
    if (sign == "STYLE") out << kPageStyle;
    if (sign == "TRACE") out << packed;
    if (sign == "SOURCES") out << sources;
    if (sign == "SCRIPT") {
      for (const std::string_view script : kPageScripts) out << script;
    }
    rest.remove_prefix(end + 1);
  }
  out << rest;
}

}  // namespace

PageSize write_page(const PageOptions& options) {
  PageBounds share = options.bounds;
  share.steps /= static_cast<std::int64_t>(options.traces.size());
  share.packed_bytes /= options.traces.size();
  std::map<std::int64_t, std::string> packed;  // By process.
  std::vector<Trace> traces;
  for (const std::string& path : options.traces) {
    std::ifstream file = open_trace(path);
    require_other_file(path, options.page);
    PageLines lines = read_page_lines(file, path, share);
    packed[lines.trace.process] = std::move(lines.packed);
    traces.push_back(std::move(lines.trace));
  }
  const TraceJob job = make_job(std::move(traces));
  PageSize size;
  std::set<std::string> places;
  for (const Trace& trace : job.processes) {
    size.steps += static_cast<std::int64_t>(trace.steps.size());
    size.total += trace.total;
    for (const TraceStep& step : trace.steps) places.insert(step.line);
  }
  if (options.bounds.from > 0 && size.steps == 0) {
    throw UsageError(ErrorCode::kInvalidArgument,
                     fmt::format("no step {} in {}, which has {} {}", options.bounds.from,
                                 options.traces.front(), job.processes.front().total,
                                 job.processes.front().total == 1 ? "step" : "steps"),
                     "steps are numbered from 0");
  }
  std::string all;
  for (const auto& [process, lines] : packed) all += lines;
  const std::string sources = source_lines_json(places, options.source_folder);
  std::ofstream page(options.page, std::ios::binary);
  write(page, all + packed_words(job), sources);
  if (!page.flush()) {
    throw InvalidArgumentError(ErrorCode::kFile, options.page + " cannot be written",
                               "give the name of a page in a folder with room with -o");
  }
  return size;
}

}  // namespace belfry::tool
