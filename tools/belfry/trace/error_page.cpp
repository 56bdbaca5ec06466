// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/error_page.h"

#include "belfry/error.h"
#include "trace/json_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <sstream>

namespace belfry::tool {

extern const char* const kErrorPage;    // The text of docs/errors.md.
extern const char* const kRulesPage[];  // The chapters of docs/semantics.md, before a null.

namespace {

// Without the blank lines around.
std::string trimmed(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.pop_back();
  }
  text.erase(0, std::min(text.find_first_not_of("\n "), text.size()));
  return text;
}

// A line of a page without links, emphasis and marks of code.
std::string plain(const std::string& line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t end = line.find("](", i);
    if (line[i] == '[' && end != std::string::npos) {
      const std::size_t closed = line.find(')', end);
      text += line.substr(i + 1, end - i - 1);
      i = std::min(closed, line.size() - 1);
    } else if (line[i] != '`' && line[i] != '*') {
      text += line[i];
    }
  }
  return text;
}

// The cells of the row of a table `| a | b |`.
std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream in(row.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) cells.push_back(trimmed(cell));
  return cells;
}

// The first sentence; of a list the begin of each point.
std::string summary_of(const ErrorSection& section) {
  std::istringstream in(section.meaning);
  std::string summary;
  for (std::string line; std::getline(in, line) && line.starts_with("- ");) {
    summary += (summary.empty() ? "" : "; ") + line.substr(2, line.find_first_of(":,;") - 2);
  }
  if (!summary.empty()) return summary;
  summary = section.meaning.substr(0, section.meaning.find("\n\n"));
  std::ranges::replace(summary, '\n', ' ');
  const std::size_t end = summary.find(". ");
  return end == std::string::npos ? summary : summary.substr(0, end + 1);
}

// Reads the lines of a section into parts. A row of a table becomes a point of a list, `- a; b: c`,
// where b is the title of the column of c.
class SectionReader {
 public:
  explicit SectionReader(ErrorSection& section) : section_(section), part_(&section.meaning) {}

  void add(const std::string& line) {
    if (line.starts_with("```")) {
      in_example_ = !in_example_;
      return;
    }
    if (in_example_) {
      section_.example += line + "\n";
      return;
    }
    if (line.starts_with("<!--")) return;
    if (line.starts_with('|')) return add_row(plain(line));
    titles_.clear();
    constexpr std::string_view kCause = "*Typical cause.* ";
    constexpr std::string_view kRemedy = "*Remedy.* ";
    std::string rest = line;
    if (line.starts_with(kCause)) {
      part_ = &section_.cause;
      rest.erase(0, kCause.size());
    } else if (line.starts_with(kRemedy)) {
      part_ = &section_.remedy;
      rest.erase(0, kRemedy.size());
    }
    *part_ += plain(rest) + "\n";
  }

  void end() {
    for (std::string* const part :
         {&section_.meaning, &section_.cause, &section_.example, &section_.remedy}) {
      *part = trimmed(*part);
    }
  }

 private:
  void add_row(const std::string& row) {
    const std::vector<std::string> cells = cells_of(row);
    if (titles_.empty()) {
      titles_ = cells;
    } else if (!cells.front().starts_with("--")) {
      *part_ += "- " + cells.front();
      for (std::size_t i = 1; i < cells.size(); ++i) *part_ += "; " + titles_[i] + ": " + cells[i];
      *part_ += "\n";
    }
  }

  ErrorSection& section_;
  std::string* part_;
  std::vector<std::string> titles_;  // Of the columns of the table.
  bool in_example_ = false;
};

std::string json_of(const ErrorSection& section) {
  return JsonObject()
      .text("code", section.code)
      .text("name", section.name)
      .text("meaning", section.meaning)
      .text("cause", section.cause)
      .text("example", section.example)
      .text("remedy", section.remedy)
      .str();
}

std::string indented(const std::string& text) {
  std::string lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines += (line.empty() ? "" : "  ") + line + "\n";
  if (!lines.empty()) lines.pop_back();
  return lines;
}

void print(const ErrorSection& section, Console& console) {
  console.result(section.code + " " + section.name);
  console.result("\n" + indented(section.meaning));
  const std::pair<const char*, const std::string&> parts[] = {{"Typical cause", section.cause},
                                                              {"Example", section.example},
                                                              {"What to do", section.remedy}};
  for (const auto& [title, text] : parts) {
    if (text.empty()) continue;
    console.heading(title);
    console.result(indented(text));
  }
}

}  // namespace

std::vector<ErrorSection> error_sections() {
  std::vector<ErrorSection> sections;
  std::istringstream in{std::string(kErrorPage)};
  std::optional<SectionReader> reader;
  for (std::string line; std::getline(in, line);) {
    const bool heading = line.starts_with("#");
    if (heading && reader.has_value()) {
      reader->end();
      reader.reset();
    }
    if (line.starts_with("### BF-")) {
      const std::size_t blank = line.find(' ', 4);
      sections.push_back({.code = line.substr(4, blank - 4), .name = line.substr(blank + 1)});
      reader.emplace(sections.back());
    } else if (!heading && reader.has_value()) {
      reader->add(line);
    }
  }
  if (reader.has_value()) reader->end();
  return sections;
}

std::optional<ErrorSection> find_error(std::string_view code) {
  std::string digits(code);
  for (const std::string_view prefix : {"BF-", "bf-"}) {
    if (code.starts_with(prefix)) digits.erase(0, prefix.size());
  }
  if (digits.size() < 3) digits.insert(0, 3 - digits.size(), '0');
  for (ErrorSection& section : error_sections()) {
    if (section.code == "BF-" + digits || section.name == code) return std::move(section);
  }
  return std::nullopt;
}

std::optional<std::string> find_rule(std::string_view rule) {
  if (!rule.starts_with("SEM-") && !rule.starts_with("sem-")) return std::nullopt;
  const std::string heading = fmt::format("### SEM-{} ", rule.substr(4));
  for (const char* const* chapter = kRulesPage; *chapter != nullptr; ++chapter) {
    std::istringstream in{std::string(*chapter)};
    std::string text;
    for (std::string line; std::getline(in, line);) {
      if (!text.empty() && line.starts_with('#')) break;
      if (line.starts_with(heading)) {
        text = line.substr(4) + "\n";
      } else if (!text.empty() && !line.starts_with("```") && !line.starts_with("<!--")) {
        text += plain(line) + "\n";
      }
    }
    if (!text.empty()) return trimmed(text);
  }
  return std::nullopt;
}

ExitCode explain_error(const ExplainErrorOptions& options, Console& console) {
  if (const auto rule = find_rule(options.code)) {
    console.result(!options.json ? *rule
                                 : JsonObject()
                                       .number("belfry_tool", 1)
                                       .text("command", "explain-error")
                                       .text("rule", *rule)
                                       .str());
    return ExitCode::kGood;
  }
  std::vector<ErrorSection> shown;
  if (options.code.empty()) {
    shown = error_sections();
  } else if (auto section = find_error(options.code)) {
    shown.push_back(std::move(*section));
  } else {
    throw UsageError(ErrorCode::kInvalidArgument, "there is no error or rule " + options.code,
                     "belfry explain-error without a code lists all");
  }
  if (options.json) {
    std::vector<std::string> objects;
    objects.reserve(shown.size());
    for (const ErrorSection& section : shown) objects.push_back(json_of(section));
    console.result(JsonObject()
                       .number("belfry_tool", 1)
                       .text("command", "explain-error")
                       .list("errors", objects)
                       .str());
  } else if (options.code.empty()) {
    for (const ErrorSection& section : shown) {
      console.result(fmt::format("{}  {:<18} {}", section.code, section.name, summary_of(section)));
    }
  } else {
    print(shown.front(), console);
  }
  return ExitCode::kGood;
}

}  // namespace belfry::tool
