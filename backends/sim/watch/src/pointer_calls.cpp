// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "pointer_calls.h"

#include "code_addresses.h"
#include "host_watcher.h"
#include "unseen_calls.h"

#include <regex.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>

// Calls by pointers. On x86-64, watched code makes such a call by a function with the name of the
// register of the target. The script of belfry_watch() puts watched code into a section of its own,
// and writes the section with the functions that need no note: patterns for names of the linker,
// and, after a `=`, functions that the target vouches for.
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern const char __start_belfry_watched_text[];
[[gnu::weak, gnu::visibility("hidden")]] extern const char __stop_belfry_watched_text[];
[[gnu::weak, gnu::visibility("hidden")]] extern const char* __start_belfry_watch_known[];
[[gnu::weak, gnu::visibility("hidden")]] extern const char* __stop_belfry_watch_known[];
}

namespace belfry::sim::watch {
namespace {

constinit CodeAddresses targets;

struct Patterns {
  std::vector<std::unique_ptr<regex_t, void (*)(regex_t*)>> of_names;
  std::vector<std::string> vouched;  // As a source has them, with or without parameters.
};

Patterns make_patterns() {
  std::vector<std::string> texts(__start_belfry_watch_known, __stop_belfry_watch_known);
  std::ranges::sort(texts);
  texts.erase(std::ranges::unique(texts).begin(), texts.end());
  Patterns patterns;
  for (const std::string& text : texts) {
    if (text.starts_with('=')) {
      patterns.vouched.push_back(text.substr(1));
      continue;
    }
    auto* const expression = new regex_t;
    if (::regcomp(expression, text.c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
      delete expression;
      continue;
    }
    patterns.of_names.push_back({expression, [](regex_t* made) {
                                   ::regfree(made);
                                   delete made;
                                 }});
  }
  return patterns;
}

const Patterns& patterns() {
  static const Patterns& made = *new Patterns(make_patterns());
  return made;
}

// The text before the last parentheses outside other parentheses.
std::string_view without_parameters(std::string_view text) {
  const std::size_t last = text.rfind(')');
  int depth = 0;
  for (std::size_t at = last; at != text.npos && at > 0; --at) {
    if (text[at] == ')') ++depth;
    if (text[at] == '(' && --depth == 0) return text.substr(0, at);
  }
  return text;
}

bool fits_a_pattern(const std::string& name) {
  // A stand-in of this library; a call of any function through a stub has a note of its own.
  if (name.starts_with("belfry_")) return true;
  const Patterns& known = patterns();
  const auto fits = [&](const auto& pattern) {
    return ::regexec(pattern.get(), name.c_str(), 0, nullptr, 0) == 0;
  };
  if (std::ranges::any_of(known.of_names, fits)) return true;
  const std::string text = readable(name);
  const std::string_view bare = without_parameters(text);
  return std::ranges::any_of(known.vouched, [&](const std::string& vouched) {
    return vouched == name || vouched == text || vouched == bare;
  });
}

}  // namespace

void forget_pointer_calls() { targets.clear(); }

std::vector<const void*> pointer_calls() { return targets.all(); }

bool is_watched_code(const void* code) {
  return code >= __start_belfry_watched_text && code < __stop_belfry_watched_text;
}

bool are_pointer_calls_missing() { return targets.is_full(); }

bool is_known_function(const std::string& name) {
  // The thread of the watch alone asks.
  static std::map<std::string, bool>& answers = *new std::map<std::string, bool>;
  const auto [answer, is_new] = answers.try_emplace(name);
  if (is_new) answer->second = fits_a_pattern(name);
  return answer->second;
}

}  // namespace belfry::sim::watch

#ifdef __x86_64__

extern "C" {
[[gnu::used, gnu::visibility("hidden")]] void belfry_watch_calls_by_pointer(const void* target);
void belfry_watch_calls_by_pointer(const void* target) {
  if (!belfry::sim::watch::is_watched_code(target)) belfry::sim::watch::targets.add(target);
}
}

// In a replica, the target goes to belfry_watch_calls_by_pointer first. The call keeps all
// registers that may have arguments of the target.
#define BELFRY_CALL_BY(register) \
  ".globl __x86_indirect_thunk_" #register               \
  "\n"                                                   \
  ".hidden __x86_indirect_thunk_" #register              \
  "\n"                                                   \
  ".type __x86_indirect_thunk_" #register                \
  ",@function\n"                                         \
  "__x86_indirect_thunk_" #register                      \
  ":\n"                                                  \
  ".cfi_startproc\n"                                     \
  "  cmpb $0, belfry_watch_inside(%rip)\n"               \
  "  je 1f\n"                                            \
  "  pushq %" #register                                  \
  "\n"                                                   \
  "  .cfi_adjust_cfa_offset 8\n"                         \
  "  call belfry_watch_note_target\n"                    \
  "  popq %" #register                                   \
  "\n"                                                   \
  "  .cfi_adjust_cfa_offset -8\n"                        \
  "1: jmp *%" #register                                  \
  "\n"                                                   \
  ".cfi_endproc\n"                                       \
  ".size __x86_indirect_thunk_" #register                \
  ", .-__x86_indirect_thunk_" #register "\n"

__asm__(
    ".pushsection .text\n"
    ".type belfry_watch_note_target,@function\n"
    "belfry_watch_note_target:\n"
    ".cfi_startproc\n"
    "  pushq %rbp\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset %rbp, -16\n"
    "  movq %rsp, %rbp\n"
    ".cfi_def_cfa_register %rbp\n"
    "  pushq %rax\n  pushq %rcx\n  pushq %rdx\n  pushq %rsi\n  pushq %rdi\n"
    "  pushq %r8\n  pushq %r9\n  pushq %r10\n  pushq %r11\n"
    "  subq $136, %rsp\n"
    "  andq $-16, %rsp\n"
    "  movups %xmm0, (%rsp)\n  movups %xmm1, 16(%rsp)\n  movups %xmm2, 32(%rsp)\n"
    "  movups %xmm3, 48(%rsp)\n  movups %xmm4, 64(%rsp)\n  movups %xmm5, 80(%rsp)\n"
    "  movups %xmm6, 96(%rsp)\n  movups %xmm7, 112(%rsp)\n"
    "  movq 16(%rbp), %rdi\n"
    "  call belfry_watch_calls_by_pointer\n"
    "  movups (%rsp), %xmm0\n  movups 16(%rsp), %xmm1\n  movups 32(%rsp), %xmm2\n"
    "  movups 48(%rsp), %xmm3\n  movups 64(%rsp), %xmm4\n  movups 80(%rsp), %xmm5\n"
    "  movups 96(%rsp), %xmm6\n  movups 112(%rsp), %xmm7\n"
    "  leaq -72(%rbp), %rsp\n"
    "  popq %r11\n  popq %r10\n  popq %r9\n  popq %r8\n"
    "  popq %rdi\n  popq %rsi\n  popq %rdx\n  popq %rcx\n  popq %rax\n"
    "  popq %rbp\n"
    ".cfi_def_cfa %rsp, 8\n"
    "  ret\n"
    ".cfi_endproc\n"
    ".size belfry_watch_note_target, .-belfry_watch_note_target\n"
    // clang-format off
    BELFRY_CALL_BY(rax) BELFRY_CALL_BY(rbx) BELFRY_CALL_BY(rcx) BELFRY_CALL_BY(rdx)
    BELFRY_CALL_BY(rsi) BELFRY_CALL_BY(rdi) BELFRY_CALL_BY(rbp) BELFRY_CALL_BY(r8)
    BELFRY_CALL_BY(r9) BELFRY_CALL_BY(r10) BELFRY_CALL_BY(r11) BELFRY_CALL_BY(r12)
    BELFRY_CALL_BY(r13) BELFRY_CALL_BY(r14) BELFRY_CALL_BY(r15)
    // clang-format on
    ".popsection\n");

#undef BELFRY_CALL_BY

#endif
