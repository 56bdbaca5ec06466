// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "page/page.h"

#include "belfry/error.h"
#include "exit_code.h"
#include "page/source_lines.h"
#include "trace/trace_reader.h"

#include <fmt/format.h>

#include <fstream>

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

PageLines write_page(const PageOptions& options) {
  std::ifstream trace = open_trace(options.trace);
  require_other_file(options.trace, options.page);
  PageLines lines = read_page_lines(trace, options.trace, options.bounds);
  if (options.bounds.from > 0 && lines.steps == 0) {
    throw UsageError(ErrorCode::kInvalidArgument,
                     fmt::format("no step {} in {}, which has {} {}", options.bounds.from,
                                 options.trace, lines.total, lines.total == 1 ? "step" : "steps"),
                     "steps are numbered from 0");
  }
  const std::string sources = source_lines_json(lines.places, options.source_folder);
  std::ofstream page(options.page, std::ios::binary);
  write(page, lines.packed, sources);
  if (!page.flush()) {
    throw InvalidArgumentError(ErrorCode::kFile, options.page + " cannot be written",
                               "give the name of a page in a folder with room with -o");
  }
  return lines;
}

}  // namespace belfry::tool
