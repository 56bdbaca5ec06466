// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "page/page_lines.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::tool {

/// The texts of page.html, of page.css, and of the files of JavaScript.
extern const std::string_view kPageHtml;
extern const std::string_view kPageStyle;
extern const std::span<const std::string_view> kPageScripts;

/// The arguments of `belfry view`.
struct PageOptions {
  /// The files that are read: a trace, or a trace of each process of a job.
  std::vector<std::string> traces{};
  std::string page{};           ///< The file that is written.
  std::string source_folder{};  ///< For the lines of source; empty for none.
  PageBounds bounds{};
};

/// The numbers of steps of a page, and of its traces.
struct PageSize {
  std::int64_t steps = 0;
  std::int64_t total = 0;
};

/// Writes traces as a page: a single file of HTML, without links to files or hosts. Traces have
/// equal shares of `bounds`, and each begins with step `bounds.from`.
/// Throws: UnreadableFile; UsageError for traces of several jobs, and without a step from
/// `bounds.from` on; InvalidArgumentError (kFileFormat, kFile).
PageSize write_page(const PageOptions& options);

}  // namespace belfry::tool
