// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "console.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace belfry::tool {
namespace {

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kRed = "\x1b[1;31m";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr std::string_view kEraseLine = "\r\x1b[K";

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

ConsoleOptions ConsoleOptions::of_process() {
  const bool capable = environment("TERM") != "dumb";
  ConsoleOptions options;
  options.colors = capable && environment("NO_COLOR").empty() && isatty(STDOUT_FILENO) == 1;
  options.progress = capable && isatty(STDERR_FILENO) == 1;
  return options;
}

Console::~Console() { clear_progress(); }

void Console::paint(std::string_view color, std::string_view text) {
  if (options_.colors) {
    out_ << color << text << kPlain;
  } else {
    out_ << text;
  }
}

void Console::line(std::string_view text) {
  if (options_.quiet) return;
  result(text);
}

void Console::heading(std::string_view text) {
  if (options_.quiet) return;
  clear_progress();
  out_ << '\n';
  paint(kBold, text);
  out_ << '\n';
}

void Console::verdict(bool good, std::string_view text) {
  clear_progress();
  paint(good ? kGreen : kRed, good ? "[ok]    " : "[WRONG] ");
  out_ << text << '\n' << std::flush;
}

void Console::result(std::string_view text) {
  clear_progress();
  out_ << text << '\n' << std::flush;
}

void Console::progress(std::string_view text) {
  if (!options_.progress || options_.quiet) return;
  notes_ << kEraseLine << text << std::flush;
  progress_shown_ = true;
}

void Console::complain(std::string_view text) {
  clear_progress();
  notes_ << text << '\n' << std::flush;
}

void Console::complain(const Error& error) { complain("belfry: " + describe(error.report())); }

void Console::clear_progress() {
  if (!progress_shown_) return;
  notes_ << kEraseLine << std::flush;
  progress_shown_ = false;
}

}  // namespace belfry::tool
