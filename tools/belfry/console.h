// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/error.h"

#include <ostream>
#include <string_view>

namespace belfry::tool {

struct ConsoleOptions {
  bool colors = false;    ///< Of results.
  bool progress = false;  ///< A line that changes, on the stream for notes.
  bool quiet = false;     ///< Results alone.

  /// The options for this process: colours on a terminal unless NO_COLOR is set, progress on a
  /// terminal, neither if TERM is `dumb`.
  static ConsoleOptions of_process();
};

/// Writes results to one stream, progress and errors to another.
class Console {
 public:
  Console(std::ostream& out, std::ostream& notes, ConsoleOptions options)
      : out_(out), notes_(notes), options_(options) {}
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console();

  bool quiet() const { return options_.quiet; }

  /// A line of a report, left out if `quiet`.
  void line(std::string_view text = {});
  void heading(std::string_view text);
  /// A line about a check; never left out.
  void verdict(bool good, std::string_view text);
  /// A line never left out.
  void result(std::string_view text);
  /// Replaces the line of progress. Does nothing without a terminal.
  void progress(std::string_view text);
  /// An error, on the stream for notes.
  void complain(std::string_view text);
  /// The description of an error of belfry: call site, replicas, and the seed and the replay token
  /// of a run on the simulator.
  void complain(const Error& error);

 private:
  void clear_progress();
  void paint(std::string_view color, std::string_view text);

  std::ostream& out_;
  std::ostream& notes_;
  ConsoleOptions options_;
  bool progress_shown_ = false;
};

}  // namespace belfry::tool
