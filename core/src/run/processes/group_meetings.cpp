// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/byte_stream.h"
#include "belfry/detail/group_reports.h"
#include "belfry/error.h"
#include "belfry/process_group.h"
#include "run/processes/process_messages.h"
#include "run/rounds/exception_text.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

namespace belfry {
namespace {

using detail::ByteReader;
using detail::Bytes;
using detail::ByteWriter;

using Called = detail::GroupCall;

// The call of each process, as far as known.
void add_places(ErrorReport& report, const std::vector<Called>& all) {
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].file.empty()) continue;
    ReplicaReport& part = report.replicas[rank];
    part.file = std::make_shared<const std::string>(all[rank].file);
    part.site = {part.file->c_str(), all[rank].line};
  }
}

std::vector<Called> exchange(ProcessGroup& group, const char* word, std::int64_t number,
                             CallSite site) {
  std::vector<Called> all;
  group.name_call(word, site);
  for (const Bytes& bytes :
       group.gather(detail::encode(Called{word, site.file, site.line, number}))) {
    all.push_back(detail::decode_group_call(bytes));
  }
  const bool same_words = std::ranges::all_of(
      all, [&](const Called& called) { return called.word == all.front().word; });
  if (same_words) return all;
  std::vector<std::string> words;
  for (const Called& called : all) words.push_back(called.word);
  ErrorReport report = detail::calls_differ(words);
  add_places(report, all);
  throw_error(std::move(report));
}

bool at_one_place(const std::vector<Called>& all) {
  return std::ranges::all_of(all, [&](const Called& called) {
    return called.file == all.front().file && called.line == all.front().line;
  });
}

ErrorReport different_places(const std::vector<Called>& all) {
  ErrorReport report;
  report.code = ErrorCode::kMergePlaces;
  report.summary = "processes call " + all.front().word + " at different places";
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    ReplicaReport& part = report.replicas.emplace_back();
    part.process = static_cast<int>(rank);
    part.what = "calls " + all[rank].word;
  }
  add_places(report, all);
  report.expected = "every process at the same call, in the same order";
  return report;
}

}  // namespace

void ProcessGroup::set_deadline(Deadline deadline, CallSite site) {
  const std::vector<Called> all = exchange(*this, "set_deadline", deadline.as_milliseconds(), site);
  for (std::size_t process = 0; process < all.size(); ++process) {
    if (all[process].number == all.front().number) continue;
    const auto words = [](std::int64_t number) {
      return detail::words_of(number == Deadline::never().as_milliseconds()
                                  ? Deadline::never()
                                  : Deadline::milliseconds(number));
    };
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "a deadline of " + words(all.front().number) +
                                   " in process 0, and of " + words(all[process].number) +
                                   " in process " + std::to_string(process),
                               "give all processes the same deadline", site);
  }
  do_set_deadline(deadline);
}

void ProcessGroup::barrier(CallSite site) {
  const std::vector<Called> all = exchange(*this, "barrier", 0, site);
  if (!at_one_place(all)) throw_error(different_places(all));
}

void ProcessGroup::call_first(const std::function<void()>& function, CallSite site) {
  const std::vector<Called> all = exchange(*this, "first", 0, site);
  if (!at_one_place(all)) throw_error(different_places(all));
  std::exception_ptr thrown;
  ByteWriter out;
  if (rank() == 0) {
    try {
      function();
    } catch (...) {
      thrown = std::current_exception();
      out.text(detail::text_of(thrown));
    }
  }
  Bytes failure;
  try {
    failure = broadcast(out.bytes(), 0);
  } catch (...) {
    if (thrown == nullptr) throw;  // Else the cause is thrown, not the lost process.
  }
  if (thrown != nullptr) std::rethrow_exception(thrown);
  if (failure.empty()) return;
  ErrorReport report;
  report.code = ErrorCode::kPeerFailed;
  report.summary = "process 0 failed: " + ByteReader(failure).text();
  report.site = site;
  report.hint = "this process is not at fault: mend the failure in process 0";
  throw PeerFailedError(std::move(report));
}

}  // namespace belfry
