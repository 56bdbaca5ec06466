// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "hangs/divergence.h"

#include <algorithm>
#include <cstddef>

namespace belfry::tool::hangs {
namespace {

std::vector<Variant> variants_of(const Group& group, const CallId& call) {
  std::vector<Variant> variants;
  for (const Track& track : group.tracks) {
    const Entry* const entry = track.at(call);
    if (entry == nullptr) continue;
    const auto same = std::find_if(variants.begin(), variants.end(), [&](const Variant& variant) {
      return !difference(*variant.entry, *entry).has_value();
    });
    if (same == variants.end())
      variants.push_back({{track.rank}, entry});
    else
      same->ranks.push_back(track.rank);
  }
  return variants;
}

bool fit(const Track& a, const CallId& at_a, const Track& b, const CallId& at_b) {
  const Entry* const one = a.at(at_a);
  const Entry* const other = b.at(at_b);
  return one != nullptr && other != nullptr && !difference(*one, *other).has_value();
}

Pattern pattern_of(const Group& group, const Divergence& divergence) {
  if (!divergence.has_majority || divergence.variants.size() != 2) return Pattern::kUnknown;
  const CallId here = divergence.call;
  const CallId next{.group = here.group, .seq = here.seq + 1};
  const Track* many = nullptr;  // The one that went on, if any.
  for (const int rank : divergence.variants.front().ranks) {
    const Track* const track = group.track(rank);
    if (many == nullptr || track->at(next) != nullptr) many = track;
  }
  const Track& few = *group.track(divergence.ranks.front());
  const bool left_out = fit(few, here, *many, next);
  const bool added = fit(few, next, *many, here);
  if (left_out && added) return Pattern::kSwapped;
  if (left_out) return Pattern::kLeftOut;
  return added ? Pattern::kAdded : Pattern::kUnknown;
}

Divergence divergence_of(const Group& group, const CallId& call) {
  Divergence divergence{.call = call, .variants = variants_of(group, call)};
  std::vector<Variant>& variants = divergence.variants;
  std::sort(variants.begin(), variants.end(), [](const Variant& a, const Variant& b) {
    if (a.ranks.size() != b.ranks.size()) return a.ranks.size() > b.ranks.size();
    return a.ranks.front() < b.ranks.front();
  });
  std::size_t present = 0;
  for (const Variant& variant : variants) present += variant.ranks.size();
  divergence.what = *difference(*variants[0].entry, *variants[1].entry);
  divergence.has_majority = 2 * variants.front().ranks.size() > present;
  for (std::size_t i = divergence.has_majority ? 1 : 0; i < variants.size(); ++i) {
    divergence.ranks.insert(divergence.ranks.end(), variants[i].ranks.begin(),
                            variants[i].ranks.end());
  }
  std::sort(divergence.ranks.begin(), divergence.ranks.end());
  divergence.pattern = pattern_of(group, divergence);
  return divergence;
}

// The tracks from their first calls on, number by number.
class Sweep {
 public:
  explicit Sweep(const Group& group) : group_(group), next_(group.tracks.size(), 0) {}

  // The first number and part with a difference; none at the end.
  std::optional<std::pair<std::int64_t, std::size_t>> find() {
    for (std::optional<std::int64_t> seq = lowest(); seq.has_value(); seq = lowest()) {
      const std::optional<std::size_t> part = compare(*seq);
      if (part.has_value()) return std::pair(*seq, *part);
    }
    return std::nullopt;
  }
  // Calls of at least two ranks before.
  std::int64_t compared() const { return compared_; }

 private:
  std::optional<std::int64_t> lowest() const {
    std::optional<std::int64_t> lowest;
    for (std::size_t i = 0; i < next_.size(); ++i) {
      const std::vector<const Entry*>& calls = group_.tracks[i].calls;
      if (next_[i] == calls.size()) continue;
      lowest = std::min(lowest.value_or(calls[next_[i]]->seq), calls[next_[i]]->seq);
    }
    return lowest;
  }

  // Passes the calls of the number. A ring may have lost the first parts of the first number: the
  // rank is passed over if the first rank has more parts.
  std::optional<std::size_t> compare(std::int64_t seq) {
    const Track* first = nullptr;
    std::size_t begin = 0;
    std::size_t parts = 0;
    std::optional<std::size_t> different;
    bool met = false;
    for (std::size_t i = 0; i < next_.size(); ++i) {
      const Track& track = group_.tracks[i];
      const std::size_t from = next_[i];
      while (next_[i] < track.calls.size() && track.calls[next_[i]]->seq == seq) ++next_[i];
      const std::size_t count = next_[i] - from;
      if (count == 0) continue;
      if (first == nullptr) {
        first = &track;
        begin = from;
        parts = count;
        continue;
      }
      const bool torn = from == 0 || begin == 0;
      if (count != parts && torn && (track.dump->is_cut() || first->dump->is_cut())) continue;
      met = true;
      for (std::size_t part = 0; part < std::min(count, parts); ++part) {
        if (!difference(*first->calls[begin + part], *track.calls[from + part])) continue;
        different = std::min(different.value_or(part), part);
        break;
      }
    }
    if (!different.has_value() && met) ++compared_;
    return different;
  }

  const Group& group_;
  std::vector<std::size_t> next_;  // The call of each track that comes next.
  std::int64_t compared_ = 0;
};

bool is_cut(const Group& group) {
  return std::any_of(group.tracks.begin(), group.tracks.end(), [](const Track& track) {
    return track.dump != nullptr && track.dump->is_cut() && !track.calls.empty() &&
           track.calls.front()->seq > 1;
  });
}

}  // namespace

std::optional<Divergence> first_divergence(const Job& job, std::size_t group) {
  Sweep sweep(job.groups[group]);
  const auto found = sweep.find();
  if (!found.has_value()) return std::nullopt;
  Divergence divergence = divergence_of(
      job.groups[group], {.group = group, .seq = found->first, .part = found->second});
  divergence.may_be_earlier = sweep.compared() == 0 && is_cut(job.groups[group]);
  return divergence;
}

bool has_common_window(const Group& group) {
  if (!is_cut(group)) return true;
  std::int64_t most_first = 0;  // Of the two rings that reach back most.
  std::vector<std::pair<std::int64_t, std::int64_t>> windows;
  for (const Track& track : group.tracks) {
    if (!track.calls.empty()) {
      windows.emplace_back(track.calls.front()->seq, track.calls.back()->seq);
    }
  }
  std::sort(windows.begin(), windows.end());
  for (const auto& [first, last] : windows) {
    if (first <= most_first) return true;
    most_first = std::max(most_first, last);
  }
  return windows.size() < 2;
}

}  // namespace belfry::tool::hangs
