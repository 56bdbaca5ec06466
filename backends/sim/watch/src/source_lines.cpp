// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "source_lines.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <vector>

namespace belfry::sim::watch {
namespace {

// No search for tables beside the program: a search may ask servers.
const Dwfl_Callbacks kCallbacks{dwfl_linux_proc_find_elf, [](auto...) { return -1; }, nullptr,
                                nullptr};

bool is_users(std::string_view file) {
  return !file.empty() && !file.starts_with("/usr/") && file.find("/include/c++/") == file.npos &&
         file.find("/include/belfry/") == file.npos;
}

CallSite position(const char* file, int line) {
  if (file == nullptr || line <= 0 || !is_users(file)) return {};
  return {file, line};
}

// The unit of compilation with the code at `address`. GCC writes an index of units, clang does not:
// in a program of both, the index has a unit of GCC for the code of clang that follows the unit.
Dwarf_Die* unit_of(Dwfl_Module* module, Dwarf_Addr address, Dwarf_Addr& bias) {
  Dwarf_Die* unit = dwfl_module_addrdie(module, address, &bias);
  if (unit != nullptr && dwarf_haspc(unit, address - bias) > 0) return unit;
  unit = nullptr;
  while ((unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr) {
    if (dwarf_haspc(unit, address - bias) > 0) return unit;
  }
  return nullptr;
}

int number_of(Dwarf_Line* line) {
  int number = 0;
  return line != nullptr && dwarf_lineno(line, &number) == 0 ? number : 0;
}

// Optimized code that stands for several statements has line 0. The last line before, in the order
// of the code, is a line of the same function.
Dwarf_Line* line_before(Dwarf_Die& unit, const Dwarf_Line* merged) {
  Dwarf_Lines* lines = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrclines(&unit, &lines, &count) != 0) return nullptr;
  Dwarf_Line* before = nullptr;
  for (std::size_t k = 0; k < count; ++k) {
    Dwarf_Line* const line = dwarf_onesrcline(lines, k);
    if (line == merged) return before;
    if (number_of(line) != 0) before = line;
  }
  return nullptr;
}

Dwarf_Line* line_of_code(Dwarf_Die& unit, Dwarf_Addr address) {
  Dwarf_Line* const line = dwarf_getsrc_die(&unit, address);
  return line != nullptr && number_of(line) == 0 ? line_before(unit, line) : line;
}

CallSite position_of_code(Dwarf_Die& unit, Dwarf_Addr address) {
  Dwarf_Line* const line = line_of_code(unit, address);
  if (line == nullptr) return {};
  return position(dwarf_linesrc(line, nullptr, nullptr), number_of(line));
}

// The position of the call that was inlined as `scope`.
CallSite position_of_call(Dwarf_Die& unit, Dwarf_Die& scope) {
  if (dwarf_tag(&scope) != DW_TAG_inlined_subroutine) return {};
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0;
  Dwarf_Word line = 0;
  Dwarf_Files* files = nullptr;
  if (dwarf_formudata(dwarf_attr(&scope, DW_AT_call_file, &attribute), &file) != 0 ||
      dwarf_formudata(dwarf_attr(&scope, DW_AT_call_line, &attribute), &line) != 0 ||
      dwarf_getsrcfiles(&unit, &files, nullptr) != 0) {
    return {};
  }
  return position(dwarf_filesrc(files, file, nullptr, nullptr), static_cast<int>(line));
}

CallSite position_of_inlined(Dwarf_Die& unit, Dwarf_Addr address) {
  Dwarf_Die* scopes = nullptr;
  if (dwarf_getscopes(&unit, address, &scopes) <= 0) return {};
  Dwarf_Die* around = nullptr;
  const int count = dwarf_getscopes_die(&scopes[0], &around);
  CallSite found;
  for (int k = 0; k < count && found.empty(); ++k) found = position_of_call(unit, around[k]);
  std::free(around);
  std::free(scopes);
  return found;
}

// Whether the function around `address` is found, as a copy that is not inlined.
bool find_function(Dwarf_Die& unit, Dwarf_Addr address, Dwarf_Die& function) {
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes(&unit, address, &scopes);
  bool found = false;
  for (int k = 0; k < count && !found; ++k) {
    found = dwarf_tag(&scopes[k]) == DW_TAG_subprogram;
    if (found) function = scopes[k];
  }
  std::free(scopes);
  return found;
}

// The addresses of the statements of `function` up to `address`.
std::vector<Dwarf_Addr> statements_before(Dwarf_Die& unit, Dwarf_Die& function,
                                          Dwarf_Addr address) {
  Dwarf_Lines* lines = nullptr;
  std::size_t count = 0;
  std::vector<Dwarf_Addr> found;
  if (dwarf_getsrclines(&unit, &lines, &count) != 0) return found;
  for (std::size_t k = 0; k < count; ++k) {
    Dwarf_Addr at = 0;
    if (dwarf_lineaddr(dwarf_onesrcline(lines, k), &at) != 0 || at >= address) continue;
    if (dwarf_haspc(&function, at) > 0) found.push_back(at);
  }
  return found;
}

}  // namespace

struct SourceLines::Tables {
  Dwfl* dwfl = dwfl_begin(&kCallbacks);

  /// The unit with the code at `address`, and the address in the unit's tables; null without
  /// tables.
  Dwarf_Die* unit_at(const void* address, Dwarf_Addr& there) const {
    there = static_cast<Dwarf_Addr>(reinterpret_cast<std::uintptr_t>(address));
    if (dwfl == nullptr || there == 0) return nullptr;
    Dwfl_Module* const module = dwfl_addrmodule(dwfl, there);
    if (module == nullptr) return nullptr;
    Dwarf_Addr bias = 0;
    Dwarf_Die* const unit = unit_of(module, there, bias);
    there -= bias;
    return unit;
  }
};

SourceLines& source_lines() {
  static SourceLines& lines = *new SourceLines;
  return lines;
}

SourceLines::SourceLines() : tables_(std::make_unique<Tables>()) {
  if (tables_->dwfl == nullptr) return;
  dwfl_report_begin(tables_->dwfl);
  dwfl_linux_proc_report(tables_->dwfl, ::getpid());
  dwfl_report_end(tables_->dwfl, nullptr, nullptr);
}

SourceLines::~SourceLines() { dwfl_end(tables_->dwfl); }

SourceLines::Position SourceLines::users_position(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = found_.try_emplace(address);
  if (is_new) found->second = find(address);
  return found->second;
}

SourceLines::Position SourceLines::find(const void* address) {
  Dwarf_Addr at = 0;
  Dwarf_Die* const unit = tables_->unit_at(address, at);
  if (unit == nullptr) return {};
  const CallSite found = position_of_code(*unit, at);
  const bool has_line = number_of(dwarf_getsrc_die(unit, at)) != 0;
  return found.empty() ? Position{position_of_inlined(*unit, at)} : Position{found, !has_line};
}

bool SourceLines::is_of(const void* address, std::string_view file) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = files_.try_emplace(address);
  if (is_new) found->second = find_file(address);
  return found->second.ends_with(file);
}

std::string_view SourceLines::find_file(const void* address) {
  Dwarf_Addr at = 0;
  Dwarf_Die* const unit = tables_->unit_at(address, at);
  Dwarf_Line* const line = unit == nullptr ? nullptr : line_of_code(*unit, at);
  const char* const name = line == nullptr ? nullptr : dwarf_linesrc(line, nullptr, nullptr);
  return name == nullptr ? std::string_view() : name;
}

std::string SourceLines::name_at(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = names_.try_emplace(address);
  if (is_new) found->second = find_name(address);
  return found->second;
}

std::string SourceLines::find_name(const void* address) {
  const auto there = static_cast<Dwarf_Addr>(reinterpret_cast<std::uintptr_t>(address));
  if (tables_->dwfl == nullptr) return kWithoutName;
  Dwfl_Module* module = dwfl_addrmodule(tables_->dwfl, there);
  // Variables without a first value are behind the mapped part of the program.
  const auto here = static_cast<Dwarf_Addr>(reinterpret_cast<std::uintptr_t>(&source_lines));
  if (module == nullptr) module = dwfl_addrmodule(tables_->dwfl, here);
  const char* const name = dwfl_module_addrname(module, there);
  if (name != nullptr) return name;
  const std::string_view file =
      dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  return std::string(kWithoutName) + " in " + std::string(file.substr(file.rfind('/') + 1));
}

const void* SourceLines::statement_before(const void* address) {
  const std::lock_guard lock(mutex_);
  Dwarf_Addr at = 0;
  Dwarf_Die* const unit = tables_->unit_at(address, at);
  Dwarf_Die function;
  if (unit == nullptr || !find_function(*unit, at, function)) return address;
  auto statements = statements_before(*unit, function, at);
  std::ranges::sort(statements, std::greater());
  for (const Dwarf_Addr statement : statements) {
    const auto* const before = static_cast<const char*>(address) - (at - statement);
    if (!find(before).site.empty()) return before;
  }
  return address;
}

}  // namespace belfry::sim::watch
