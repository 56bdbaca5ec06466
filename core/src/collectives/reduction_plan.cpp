// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/addition_order.h"
#include "belfry/detail/options_text.h"
#include "belfry/planned_all_reduce.h"
#include "collectives/adds_all_inputs.h"
#include "words/sum_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace belfry {
namespace {

bool holds(const ChunkRange& range, int chunk) {
  return chunk >= range.first && chunk < range.first + range.count;
}

// A sum of all members is formed from inputs alone, which have the type of the tensor.
std::size_t bytes_of_terms(const ReductionPlan& plan, const ReductionPlan::Sum& sum, DType dtype) {
  return size_of(adds_all_inputs(plan, sum) ? dtype : sum_type(dtype));
}

}  // namespace

std::string to_string(const ChunkRange& range) {
  if (range.count == 1) return fmt::format("chunk {}", range.first);
  return fmt::format("chunks {} to {}", range.first, range.first + range.count - 1);
}

std::string to_string(ChunkRule rule) {
  constexpr std::array<std::string_view, 2> kWords{"rounded up", "remainder last"};
  return detail::word_of(kWords, static_cast<int>(rule));
}

std::string to_string(const AdditionTree& tree) {
  if (tree.terms.empty()) return fmt::format("x{}", tree.member);
  return fmt::format("({} + {})", to_string(tree.terms[0]), to_string(tree.terms[1]));
}

std::string to_string(const LinkTraffic& traffic) {
  return fmt::format("{} {}, {} bytes", traffic.copies, traffic.copies == 1 ? "copy" : "copies",
                     traffic.bytes);
}

std::vector<std::size_t> ReductionPlan::chunk_begins(std::size_t elements) const {
  const auto count = static_cast<std::size_t>(chunks);
  const bool rounds_up = rule == ChunkRule::kRoundedUp && elements % count != 0;
  const std::size_t length = elements / count + (rounds_up ? 1 : 0);
  std::vector<std::size_t> begins;
  for (std::size_t c = 0; c < count; ++c) begins.push_back(std::min(c * length, elements));
  begins.push_back(elements);
  return begins;
}

std::map<std::pair<int, int>, LinkTraffic> ReductionPlan::traffic(std::size_t elements,
                                                                  DType dtype) const {
  const std::vector<std::size_t> begins = chunk_begins(elements);
  std::map<std::pair<int, int>, LinkTraffic> links;
  const auto add = [&](int from, int to, const ChunkRange& range, std::size_t element_bytes) {
    const std::size_t length = begins[static_cast<std::size_t>(range.first + range.count)] -
                               begins[static_cast<std::size_t>(range.first)];
    if (from == to || length == 0) return;
    LinkTraffic& link = links[{from, to}];
    link.copies += 1;
    link.bytes += length * element_bytes;
  };
  for (const auto& step : sums) {
    for (const Sum& sum : step) {
      const std::size_t bytes = bytes_of_terms(*this, sum, dtype);
      for (const int term : sum.terms) add(term, sum.member, sum.chunks, bytes);
    }
  }
  for (const auto& step : copies) {
    for (const Copy& copy : step) add(copy.from, copy.to, copy.chunks, size_of(dtype));
  }
  return links;
}

// Follows the chunk through the steps. The last sum is the result: it alone has all inputs.
AdditionTree ReductionPlan::additions(int chunk) const {
  std::vector<AdditionTree> have;
  for (int member = 0; member < members; ++member) have.push_back({.member = member});
  AdditionTree last = have.front();
  for (const auto& step : sums) {
    const std::vector<AdditionTree> before = have;
    for (const Sum& sum : step) {
      if (!holds(sum.chunks, chunk)) continue;
      AdditionTree total = before[static_cast<std::size_t>(sum.terms.front())];
      for (std::size_t i = 1; i < sum.terms.size(); ++i) {
        const AdditionTree& next = before[static_cast<std::size_t>(sum.terms[i])];
        total = {.member = 0, .terms = {std::move(total), next}};
      }
      last = have[static_cast<std::size_t>(sum.member)] = std::move(total);
    }
  }
  return last;
}

std::string to_string(const ReductionPlan& plan) {
  std::string text;
  std::size_t number = 0;
  for (const auto& step : plan.sums) {
    text += fmt::format("step {}:", ++number);
    for (const ReductionPlan::Sum& sum : step) {
      text += fmt::format(" {} adds {} of {};", sum.member, to_string(sum.chunks),
                          fmt::join(sum.terms, ", "));
    }
    text.back() = '\n';
  }
  for (const auto& step : plan.copies) {
    text += fmt::format("step {}:", ++number);
    for (const ReductionPlan::Copy& copy : step) {
      text += fmt::format(" {} copies {} from {};", copy.to, to_string(copy.chunks), copy.from);
    }
    text.back() = '\n';
  }
  for (int chunk = 0; chunk < plan.chunks; ++chunk) {
    text += fmt::format("chunk {}: {}\n", chunk, to_string(plan.additions(chunk)));
  }
  return text;
}

}  // namespace belfry
