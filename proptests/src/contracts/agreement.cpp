// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// After a case a process tells the verdict. If the case failed, the rest of the processes may still
// be in the case: an exchange of the case gets the verdict and throws, and the process tells a
// verdict, too. Processes repeat verdicts until all messages are verdicts. The process with the
// most repetitions failed first, and the rest because of the first.
#include "contracts/agreement.h"

#include "belfry/error.h"
#include "belfry/testing/described.h"
#include "contracts/contract_case.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::testing {
namespace {

constexpr std::string_view kMark = "the verdict of a process:";

// The text of a mistake; empty: none.
std::string mistake_in(const std::function<void()>& run_case) {
  try {
    run_case();
    return {};
  } catch (const rc::detail::CaseResult& result) {
    return result.type == rc::detail::CaseResult::Type::Success ? std::string()
                                                                : result.description;
  } catch (const rc::GenerationFailure&) {
    throw;  // In all processes alike.
  } catch (const ProcessLostError&) {
    throw;  // No process answers later.
  } catch (const std::exception& error) {
    return "it threw " + describe_exception(error);
  }
}

struct Verdict {
  int repeated = 0;
  std::string mistake;  // Empty: none.
};

std::string encoded(const Verdict& verdict) {
  return std::string(kMark) + std::to_string(verdict.repeated) + ' ' + verdict.mistake;
}

std::optional<Verdict> decoded(std::string_view message) {
  if (!message.starts_with(kMark)) return std::nullopt;
  message.remove_prefix(kMark.size());
  const std::size_t end = message.find(' ');
  return Verdict{std::stoi(std::string(message.substr(0, end))),
                 std::string(message.substr(end + 1))};
}

// The verdicts of all processes; nothing while a process is in the case.
std::optional<std::vector<Verdict>> exchanged(ProcessGroup& group, const Verdict& own) {
  const std::string message = encoded(own);
  std::vector<Verdict> all;
  try {
    for (const auto& bytes : group.gather(std::as_bytes(std::span(message)))) {
      const auto verdict = decoded({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      if (!verdict) return std::nullopt;
      all.push_back(*verdict);
    }
  } catch (const MergeMismatchError&) {
    return std::nullopt;  // A process is in a broadcast, and gets the same error.
  }
  return all;
}

}  // namespace

void agree_on_case(ProcessGroup& group, const std::function<void()>& run_case) {
  Verdict own{0, mistake_in(run_case)};
  std::optional<std::vector<Verdict>> all;
  while (!(all = exchanged(group, own))) ++own.repeated;
  const auto first = std::ranges::max_element(*all, {}, [](const Verdict& verdict) {
    return verdict.mistake.empty() ? -1 : verdict.repeated;
  });
  if (first->mistake.empty()) return;
  fail("in process " + std::to_string(first - all->begin()) + ": " + first->mistake);
}

}  // namespace belfry::testing
