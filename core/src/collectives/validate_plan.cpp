// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"
#include "belfry/planned_all_reduce.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace belfry {
namespace {

// A set of members, as bits.
class Members {
 public:
  explicit Members(int size) : words_((static_cast<std::size_t>(size) + 63) / 64, 0) {}

  void insert(int member) { words_[static_cast<std::size_t>(member) / 64] |= bit(member); }
  bool has(int member) const {
    return (words_[static_cast<std::size_t>(member) / 64] & bit(member)) != 0;
  }
  bool meets(const Members& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if ((words_[i] & other.words_[i]) != 0) return true;
    }
    return false;
  }
  void insert(const Members& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }

 private:
  static std::uint64_t bit(int member) { return std::uint64_t{1} << (member % 64); }

  std::vector<std::uint64_t> words_;
};

// Follows the steps of a plan: the inputs that each member has added up in each chunk.
class Check {
 public:
  Check(const ReductionPlan& plan, CallSite site) : plan_(plan), site_(site) {}

  void run() {
    if (plan_.members < 1) fail("the plan has no members");
    if (plan_.chunks < 1) fail("the plan has no chunks");
    start();
    for (const auto& step : plan_.sums) {
      begin_step();
      for (const ReductionPlan::Sum& sum : step) check_sum(sum);
      for (const ReductionPlan::Sum& sum : step) note_sum(sum);
    }
    finish_chunks();
    for (const auto& step : plan_.copies) {
      begin_step();
      for (const ReductionPlan::Copy& copy : step) check_copy(copy);
      for (const ReductionPlan::Copy& copy : step) note_copy(copy);
    }
    need_everything_everywhere();
  }

 private:
  struct Held {
    Members inputs;           // The members whose inputs are in the sum.
    int terms = 1;            // Their number.
    bool finished = false;    // Has the result.
    std::size_t written = 0;  // The last step that wrote, and that read, this chunk.
    std::size_t read = 0;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        step_ == 0 ? "a plan of a reduction is wrong: " + what
                   : fmt::format("step {} of a plan of a reduction is wrong: {}", step_, what),
        "validate(plan) in a test finds such mistakes; to_string(plan) prints the steps", site_);
  }
  Held& held(int member, int chunk) {
    return held_[static_cast<std::size_t>(member) * static_cast<std::size_t>(plan_.chunks) +
                 static_cast<std::size_t>(chunk)];
  }
  void start() {
    for (int member = 0; member < plan_.members; ++member) {
      Members alone(plan_.members);
      alone.insert(member);
      for (int chunk = 0; chunk < plan_.chunks; ++chunk) held_.push_back({.inputs = alone});
    }
  }
  void begin_step() { step_ += 1; }
  void need_member(int member) const {
    if (member < 0 || member >= plan_.members) {
      fail(fmt::format("member {} is not one of the {} members", member, plan_.members));
    }
  }
  void need_chunks(const ChunkRange& range) const {
    if (range.first < 0 || range.count < 1 || range.count > plan_.chunks ||
        range.first > plan_.chunks - range.count) {
      fail(fmt::format("{} chunks from chunk {} are not among the {} chunks", range.count,
                       range.first, plan_.chunks));
    }
  }
  void note_read(int reader, int member, int chunk) {
    Held& from = held(member, chunk);
    if (from.written == step_ && reader != member) {
      fail(fmt::format("member {} reads chunk {} of member {}, which the same step writes", reader,
                       chunk, member));
    }
    if (reader != member) from.read = step_;
  }
  void note_write(int member, int chunk) {
    Held& to = held(member, chunk);
    if (to.written == step_) {
      fail(fmt::format("chunk {} of member {} is written twice", chunk, member));
    }
    if (to.read == step_) {
      fail(fmt::format("chunk {} of member {} is written, and the same step reads it", chunk,
                       member));
    }
    to.written = step_;
  }
  void check_sum(const ReductionPlan::Sum& sum);
  void note_sum(const ReductionPlan::Sum& sum);
  void finish_chunks();
  void check_copy(const ReductionPlan::Copy& copy);
  void note_copy(const ReductionPlan::Copy& copy);
  void need_everything_everywhere();

  const ReductionPlan& plan_;
  CallSite site_;
  std::size_t step_ = 0;
  std::vector<Held> held_;
};

void Check::check_sum(const ReductionPlan::Sum& sum) {
  need_member(sum.member);
  need_chunks(sum.chunks);
  Members seen(plan_.members);
  for (const int term : sum.terms) {
    need_member(term);
    if (seen.has(term)) fail(fmt::format("member {} adds member {} twice", sum.member, term));
    seen.insert(term);
  }
  if (!seen.has(sum.member)) {
    fail(fmt::format("member {} adds without its own term, which is lost", sum.member));
  }
  for (int i = 0; i < sum.chunks.count; ++i) {
    const int chunk = sum.chunks.first + i;
    Members total(plan_.members);
    for (const int term : sum.terms) {
      const Held& from = held(term, chunk);
      if (total.meets(from.inputs)) {
        fail(fmt::format("member {} adds an input to chunk {} that is in the sum already",
                         sum.member, chunk));
      }
      total.insert(from.inputs);
      note_read(sum.member, term, chunk);
    }
    note_write(sum.member, chunk);
  }
}

// All sums of a step happen at once: no chunk is both read and written.
void Check::note_sum(const ReductionPlan::Sum& sum) {
  for (int chunk = sum.chunks.first; chunk < sum.chunks.first + sum.chunks.count; ++chunk) {
    Held& to = held(sum.member, chunk);
    for (const int term : sum.terms) {
      if (term == sum.member) continue;
      to.inputs.insert(held(term, chunk).inputs);
      to.terms += held(term, chunk).terms;
    }
  }
}

void Check::finish_chunks() {
  for (int chunk = 0; chunk < plan_.chunks; ++chunk) {
    int finished = 0;
    for (int member = 0; member < plan_.members; ++member) {
      Held& own = held(member, chunk);
      own.finished = own.terms == plan_.members;
      finished += own.finished ? 1 : 0;
    }
    if (finished == 0) {
      step_ = 0;
      fail(fmt::format("no member has the sum of all inputs for chunk {} after the sums", chunk));
    }
    if (finished > 1) {
      step_ = 0;
      fail(fmt::format("{} members add up all inputs of chunk {}; the bits could differ", finished,
                       chunk));
    }
  }
}

void Check::check_copy(const ReductionPlan::Copy& copy) {
  need_member(copy.from);
  need_member(copy.to);
  need_chunks(copy.chunks);
  for (int chunk = copy.chunks.first; chunk < copy.chunks.first + copy.chunks.count; ++chunk) {
    if (!held(copy.from, chunk).finished) {
      fail(fmt::format("member {} copies chunk {} from member {}, which does not have the result",
                       copy.to, chunk, copy.from));
    }
    note_read(copy.to, copy.from, chunk);
    note_write(copy.to, chunk);
  }
}

void Check::note_copy(const ReductionPlan::Copy& copy) {
  for (int chunk = copy.chunks.first; chunk < copy.chunks.first + copy.chunks.count; ++chunk) {
    held(copy.to, chunk).finished = true;
  }
}

void Check::need_everything_everywhere() {
  step_ = 0;
  for (int member = 0; member < plan_.members; ++member) {
    for (int chunk = 0; chunk < plan_.chunks; ++chunk) {
      if (!held(member, chunk).finished) {
        fail(fmt::format("member {} never receives the result of chunk {}", member, chunk));
      }
    }
  }
}

}  // namespace

void validate(const ReductionPlan& plan, CallSite site) { Check(plan, site).run(); }

}  // namespace belfry
