// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "console.h"
#include "exit_code.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::tool {

/// A section of docs/errors.md, as text without marks.
struct ErrorSection {
  std::string code{};  ///< `BF-014`
  std::string name{};  ///< `kMergeNested`
  std::string meaning{};
  std::string cause{};    ///< May be empty, as the texts below.
  std::string example{};  ///< A message.
  std::string remedy{};
};

/// All sections, in the order of the codes.
std::vector<ErrorSection> error_sections();
/// The section of `BF-014`, `bf-14`, `14` or `kMergeNested`.
std::optional<ErrorSection> find_error(std::string_view code);

/// The rule `SEM-12` or `sem-12` of docs/semantics.md, as text without marks, with the title.
std::optional<std::string> find_rule(std::string_view rule);

struct ExplainErrorOptions {
  std::string code{};  ///< A code or a rule; empty: a list of all codes.
  bool json = false;
};

/// Throws: UsageError for an unknown code.
ExitCode explain_error(const ExplainErrorOptions& options, Console& console);

}  // namespace belfry::tool
