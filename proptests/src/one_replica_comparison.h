// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/same_as_one_replica.h"
#include "reduction_tape.h"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing {

/// The reductions of a run by key, and the updates of mirrored variables by name. Changes of a
/// variable without a reduction in between are a single update with the value of the last.
class RunRecord final : public TapeReader {
 public:
  const std::vector<TapedLeaf>* take(TapedReduction reduction) override;
  const std::vector<TapedLeaf>* take(TapedChange change) override;

  const std::map<std::string, std::vector<TapedReduction>>& reductions() const {
    return reductions_;
  }
  const std::map<std::string, std::vector<TapedChange>>& updates() const { return updates_; }

 private:
  std::map<std::string, std::vector<TapedReduction>> reductions_;
  std::map<std::string, std::vector<TapedChange>> updates_;
  std::set<std::string> changed_;  // Since the last reduction.
};

/// Compares a run of several replicas, during the run, with the record of a single replica.
class OneReplicaComparison final : public TapeReader {
 public:
  /// `of_replicas` is the text ` on 4 replicas`. The options and the record outlive the object.
  OneReplicaComparison(const OneReplicaOptions& options, const RunRecord& one, int replicas,
                       std::string on_replicas);

  const std::vector<TapedLeaf>* take(TapedReduction reduction) override;
  const std::vector<TapedLeaf>* take(TapedChange change) override;

  /// After the run. A run that ended early may lack reductions.
  OneReplicaReport report(bool ended_early);

 private:
  struct Difference {
    OneReplicaReport report;
    std::string variable;  // Empty for a reduction.
  };
  // Two leaves, their bound, and the place for messages.
  struct Judged {
    const TapedLeaf& one;
    const TapedLeaf& many;
    std::size_t leaf;     // The index.
    Exact magnitude;      // The base of tolerances and hints.
    std::size_t element;  // The index.
    Exact bound;
  };

  std::string difference_of(const TapedReduction& many, const TapedReduction*& one);
  std::string difference_of(const TapedChange& many, const TapedChange& one) const;
  std::string difference_of_elements(const Judged& judged) const;
  std::string rounding_hint(const Judged& judged) const;
  std::string guess(Exact one, Exact many, Exact bound) const;
  std::string missing() const;
  bool has_all_updates(const std::string& variable) const;
  void end_updates();
  Exact allowed(const TapedLeaf& leaf, Exact magnitude) const;

  const OneReplicaOptions& options_;
  const RunRecord& one_;
  int replicas_;
  std::string on_replicas_;
  OneReplicaReport counts_;
  std::vector<Difference> differences_;  // In time.
  bool ended_ = false;                   // A reduction differs.
  std::map<std::string, std::size_t> turns_;
  // By key and leaf: the largest element so far. Gradients become small where their terms cancel
  // out, and terms stay as large as at the beginning.
  std::map<std::pair<std::string, std::size_t>, Exact> largest_;
  std::map<std::string, std::size_t> updates_;
  int all_updates_ = 0;
  std::vector<Difference> present_;  // Of the variables changed since the last reduction.
};

}  // namespace belfry::testing
