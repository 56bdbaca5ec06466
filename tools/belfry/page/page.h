// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "page/page_lines.h"

#include <span>
#include <string>
#include <string_view>

namespace belfry::tool {

/// The texts of page.html, of page.css, and of the files of JavaScript.
extern const std::string_view kPageHtml;
extern const std::string_view kPageStyle;
extern const std::span<const std::string_view> kPageScripts;

/// The arguments of `belfry view`.
struct PageOptions {
  std::string trace{};          ///< The file that is read.
  std::string page{};           ///< The file that is written.
  std::string source_folder{};  ///< For the lines of source; empty for none.
  PageBounds bounds{};
};

/// Writes a trace as a page: a single file of HTML, without links to files or hosts. Returns the
/// lines of the page. Throws: UnreadableFile; UsageError without a step from `bounds.from` on;
/// InvalidArgumentError (kFileFormat, kFile).
PageLines write_page(const PageOptions& options);

}  // namespace belfry::tool
