// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace belfry::sim::watch {

/// The line tables of the program, by libdw.
class SourceLines {
 public:
  SourceLines();
  ~SourceLines();
  SourceLines(const SourceLines&) = delete;
  SourceLines& operator=(const SourceLines&) = delete;

  /// `train.cpp:5` of the instruction at `address`, or of the call that the compiler inlined around
  /// the instruction, if the instruction is from a header of the system or of belfry. Nothing if no
  /// such call is in a file of the user, or the program has no line tables.
  std::optional<std::string> users_line(const void* address);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace belfry::sim::watch
