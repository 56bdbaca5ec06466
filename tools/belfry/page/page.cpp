// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "page/page.h"

#include "belfry/error.h"
#include "exit_code.h"
#include "page/source_lines.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

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
  std::ifstream trace(options.trace, std::ios::binary);
  std::error_code unknown;
  if (!trace || std::filesystem::is_directory(options.trace, unknown)) {
    throw UnreadableFile(ErrorCode::kFile, options.trace + " cannot be read",
                         "give the file that the program has written as its trace");
  }
  if (std::filesystem::equivalent(options.trace, options.page, unknown)) {
    throw InvalidArgumentError(ErrorCode::kFile, options.page + " is the trace itself",
                               "give the page another name with -o");
  }
  PageLines lines = read_page_lines(trace, options.trace, options.bounds);
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
