// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace belfry::sim::watch {

/// The line tables of the program, by libdw.
class SourceLines {
 public:
  SourceLines();
  ~SourceLines();
  SourceLines(const SourceLines&) = delete;
  SourceLines& operator=(const SourceLines&) = delete;

  struct Position {
    CallSite site;
    bool is_near = false;  ///< The compiler kept no line: a line of the same function.
  };

  /// The position of the instruction at `address`, or of the call that the compiler inlined around
  /// the instruction, if the instruction is from a header of the system or of belfry. Of an
  /// instruction that stands for several statements, a position near. Empty if no such call is in a
  /// file of the user, or the program has no line tables. The tables own the name of the file.
  /// Threads may call at a time.
  Position users_position(const void* address);
  CallSite users_site(const void* address) { return users_position(address).site; }
  /// Whether the statement at `address` is in a file whose name ends with `file`.
  bool is_of(const void* address, std::string_view file);
  /// The name, for the linker, of the function or variable at `address`; without a name,
  /// kWithoutName and the file.
  static constexpr const char* kWithoutName = "something without a name";
  std::string name_at(const void* address);
  /// The last address before `address` in the same function with a position in a file of the user;
  /// `address` itself if there is none.
  const void* statement_before(const void* address);

 private:
  struct Tables;

  Position find(const void* address);
  std::string_view find_file(const void* address);
  std::string find_name(const void* address);

  std::mutex mutex_;
  // Looked up, and never listed.
  std::map<const void*, Position> found_;
  std::map<const void*, std::string_view> files_;
  std::map<const void*, std::string> names_;
  std::unique_ptr<Tables> tables_;
};

/// The tables of the process.
SourceLines& source_lines();

}  // namespace belfry::sim::watch
