// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "reduction_tape.h"

#include "belfry/backend/current_slot.h"
#include "belfry/detail/step_tap.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace belfry::testing {
namespace {

template <class T>
std::vector<Exact> numbers(const std::vector<std::byte>& bytes) {
  std::vector<Exact> values;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value{};
    std::memcpy(&value, &bytes[at], sizeof(T));
    values.push_back(static_cast<Exact>(value));
  }
  return values;
}

std::vector<Exact> numbers(DType dtype, const std::vector<std::byte>& bytes) {
  switch (dtype) {
    case DType::kFloat32:
      return numbers<float>(bytes);
    case DType::kFloat64:
      return numbers<double>(bytes);
    case DType::kFloat16:
      return numbers<Float16>(bytes);
    case DType::kBFloat16:
      return numbers<BFloat16>(bytes);
    case DType::kInt8:
      return numbers<std::int8_t>(bytes);
    case DType::kInt16:
      return numbers<std::int16_t>(bytes);
    case DType::kInt32:
      return numbers<std::int32_t>(bytes);
    case DType::kInt64:
      return numbers<std::int64_t>(bytes);
    case DType::kUInt8:
    case DType::kBool:
      return numbers<std::uint8_t>(bytes);
    case DType::kUInt16:
      return numbers<std::uint16_t>(bytes);
    case DType::kUInt32:
      return numbers<std::uint32_t>(bytes);
    case DType::kUInt64:
      return numbers<std::uint64_t>(bytes);
  }
  return {};
}

std::vector<std::byte> bytes_of(const LeafRef& leaf) {
  std::vector<std::byte> bytes(leaf.bytes());
  if (bytes.empty()) return {};
  if (leaf.tensor != nullptr) {
    leaf.tensor->read(bytes.data());
  } else {
    std::memcpy(bytes.data(), leaf.data, bytes.size());
  }
  return bytes;
}

void put(const LeafRef& leaf, const std::vector<std::byte>& bytes) {
  if (bytes.empty()) return;
  if (leaf.tensor != nullptr) {
    *leaf.tensor = AnyTensor::from_host(leaf.dtype, leaf.tensor->shape(), bytes.data(),
                                        leaf.tensor->placement());
  } else {
    std::memcpy(leaf.data, bytes.data(), bytes.size());
  }
}

std::vector<TapedLeaf> without_values(const std::vector<LeafRef>& refs) {
  std::vector<TapedLeaf> leaves;
  for (const LeafRef& ref : refs) {
    leaves.push_back({.dtype = ref.dtype,
                      .judged = ref.own == nullptr,
                      .inputs = {},
                      .result = {},
                      .bytes = {}});
  }
  return leaves;
}

std::vector<TapedLeaf> inputs_of(const ReduceCall& call) {
  std::vector<TapedLeaf> leaves = without_values(call.parts.front());
  for (const std::vector<LeafRef>& part : call.parts) {
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i].judged) continue;
      leaves[i].inputs.push_back(numbers(part[i].dtype, bytes_of(part[i])));
    }
  }
  return leaves;
}

void take_results(std::vector<TapedLeaf>& leaves, const std::vector<LeafRef>& refs) {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i].judged) continue;
    leaves[i].bytes = bytes_of(refs[i]);
    leaves[i].result = numbers(leaves[i].dtype, leaves[i].bytes);
  }
}

// Leaves that are not judged stay.
void put_results(std::span<const std::vector<LeafRef>> parts,
                 const std::vector<TapedLeaf>* results) {
  if (results == nullptr) return;
  for (const std::vector<LeafRef>& part : parts) {
    for (std::size_t i = 0; i < part.size(); ++i) put(part[i], (*results)[i].bytes);
  }
}

std::string key_of(CallSite site) {
  return std::string(site.file) + ':' + std::to_string(site.line);
}

// A member with a value of its own until the end of a scope.
template <class T>
class Within {
 public:
  Within(T& member, T value) : member_(member), before_(std::exchange(member, value)) {}
  ~Within() { member_ = before_; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  T& member_;
  T before_;
};

}  // namespace

ReductionTape::ReductionTape(Strategy& strategy, TapeReader& reader)
    : core_(&strategy.cross_replica().core()),
      reader_(reader),
      outer_(std::exchange(detail::step_tap, this)) {}

ReductionTape::~ReductionTape() { detail::step_tap = outer_; }

void ReductionTape::around_merge(detail::StrategyCore& core, const StrategyStep& merge,
                                 detail::FunctionRef<void()> hook) {
  if (&core != core_) return hook();
  if (detail::tag_of(merge) == nullptr) count_unnamed(merge.site(), core.statistics().runs);
  const Within<const StrategyStep*> within(merge_, &merge);
  hook();
}

void ReductionTape::count_unnamed(CallSite site, std::uint64_t run) {
  auto line = std::ranges::find_if(
      unnamed_, [&](const UnnamedLine& each) { return same_place(each.site, site); });
  if (line == unnamed_.end()) line = unnamed_.insert(line, {.site = site});
  if (std::exchange(line->run, run) != run) line->count = 0;
  line->most = std::max(line->most, ++line->count);
}

std::string ReductionTape::unnamed_merges() const {
  std::string text;
  for (const UnnamedLine& line : unnamed_) {
    if (line.most < 2) continue;
    text += "; " + std::to_string(line.most) + " merges at " + to_string(line.site) +
            " have no names: their order is not compared";
  }
  return text;
}

void ReductionTape::around_reduce(detail::StrategyCore& core, const ReduceCall& call,
                                  detail::FunctionRef<void()> hook) {
  if (&core != core_ || reduces_) return hook();
  TapedReduction reduction{.place = present_place(), .op = call.op, .leaves = inputs_of(call)};
  {
    const Within<bool> within(reduces_, true);
    hook();
  }
  take_results(reduction.leaves, call.parts.front());
  put_results(call.parts, reader_.take(std::move(reduction)));
}

void ReductionTape::before_change(detail::StrategyCore& core, const detail::VariableInfo& info,
                                  std::span<const std::vector<LeafRef>> components, CallSite site) {
  if (&core != core_) return;
  TapedChange change{
      .variable = info.name, .site = site, .leaves = without_values(components.front())};
  take_results(change.leaves, components.front());
  put_results(components, reader_.take(std::move(change)));
}

// A tag takes the place of the line of the merge, and not of a line in the merge function.
ReductionPlace ReductionTape::present_place() const {
  const CallSite site = detail::submitting_site();
  const std::string at = " at " + to_string(site);
  if (merge_ == nullptr) return {key_of(site), "the reduction" + at};
  const MergeTag* const tag = detail::tag_of(*merge_);
  const std::string what = merge_->what();
  if (tag == nullptr) return {key_of(site), what + at};
  const std::string name = to_string(*tag);
  const bool is_of_merge = same_place(site, merge_->site());
  return {is_of_merge ? name : name + key_of(site), what + ' ' + name + at};
}

}  // namespace belfry::testing
