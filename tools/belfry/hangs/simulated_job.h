// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace belfry::tool::hangs {

// A job of ranks with lists of collectives on groups, executed until all ranks block, with a
// mistake at a known place; and the dumps of the recorders. For tests: shares no code with the
// readers of dumps.

struct SimulatedCall {
  std::size_t group = 0;
  std::string kind{};
  std::int64_t rows = 1;  // The shape is [rows, 4].
  std::string type = "Float";
  auto operator<=>(const SimulatedCall&) const = default;
};

struct SimulatedGroup {
  std::string name{};
  std::vector<int> ranks{};
};

enum class Mistake { kNone, kLeftOut, kOrder, kKind, kShape, kType, kGroupOrder, kCrash, kSlow };
inline constexpr int kMistakes = 9;

// Where the mistake is. Calls of equal properties cannot be told apart: a rank without a call of a
// row of equal calls differs at the end of the row, or earlier if the rank waits in a second group.
struct Truth {
  int rank = 0;
  std::string group{};
  std::int64_t first_seq = 0;
  std::int64_t last_seq = 0;
  std::string second_group{};  // Of kGroupOrder: the call made first.
  std::int64_t second_seq = 0;
};

enum class Format { kNccl, kGloo, kBelfry };

class SimulatedJob {
 public:
  // A program of the ranks without a mistake, ended.
  SimulatedJob(int ranks, std::uint32_t seed);
  // Makes the program of a rank wrong at a random place with a hang, and runs the job. False if no
  // place was found.
  bool make(Mistake mistake);

  const Truth& truth() const { return truth_; }
  int ranks() const { return static_cast<int>(programs_.size()); }
  // A text for each rank, empty without a dump.
  std::vector<std::string> dumps(Format format, std::size_t ring) const;

 private:
  using Program = std::vector<SimulatedCall>;

  std::size_t random(std::size_t below) { return random_() % below; }
  void add_call(std::size_t axis);
  bool change(Mistake mistake, std::size_t rank, std::size_t at);
  std::optional<std::size_t> next_in_group(const Program& program, std::size_t at) const;
  std::int64_t seq_of(const Program& program, std::size_t at) const;
  void run();
  bool completes(std::size_t rank) const;
  std::string dump(Format format, std::size_t rank, std::size_t ring) const;
  std::string entry(Format format, std::size_t rank, std::size_t at) const;

  std::mt19937 random_;
  std::size_t depth_ = 1;  // Most calls entered ahead of the device.
  std::vector<std::vector<SimulatedGroup>> axes_;
  std::vector<SimulatedGroup> groups_;
  std::vector<Program> programs_;  // By rank, as the next.
  std::vector<std::size_t> stop_;  // Most calls entered by the host.
  std::vector<std::size_t> entered_;
  std::vector<std::size_t> done_;
  Mistake mistake_ = Mistake::kNone;
  Truth truth_{};
};

}  // namespace belfry::tool::hangs
