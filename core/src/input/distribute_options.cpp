// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/dataset/distribute_options.h"

#include "belfry/dataset.h"
#include "belfry/detail/step_reader.h"
#include "belfry/error.h"

#include <numeric>

namespace belfry {

std::string to_string(EndOfData policy) {
  switch (policy) {
    case EndOfData::kDropPartialStep:
      return "drop partial step";
    case EndOfData::kPadWithEmpties:
      return "pad with empties";
    case EndOfData::kMaskReplicas:
      return "mask replicas";
  }
  return "?";
}

std::string to_string(ElementUse use) {
  switch (use) {
    case ElementUse::kGlobalBatch:
      return "global batch";
    case ElementUse::kPerReplica:
      return "per replica";
  }
  return "use(" + std::to_string(static_cast<int>(use)) + ")";
}

std::string to_string(Remainder remainder) {
  switch (remainder) {
    case Remainder::kKeep:
      return "keep";
    case Remainder::kDrop:
      return "drop";
  }
  return "remainder(" + std::to_string(static_cast<int>(remainder)) + ")";
}

std::string to_string(BatchSplit split) {
  switch (split) {
    case BatchSplit::kEvenSizes:
      return "even sizes";
    case BatchSplit::kEachBatch:
      return "each batch";
  }
  return "split(" + std::to_string(static_cast<int>(split)) + ")";
}

namespace detail {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& hint, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, what, hint, site);
}

}  // namespace

void require_options(const DistributeOptions& options, CallSite site) {
  if (options.end_of_data < EndOfData::kDropPartialStep ||
      options.end_of_data > EndOfData::kMaskReplicas) {
    refuse("nothing says what happens to a partial step at the end of the data",
           "set end_of_data: drop the step, pad it with empty batches, or mask replicas", site);
  }
  require_at_least(0, options.prefetch, "prefetch", site);
  require_shard(options.num_workers, options.worker, site);
  if (options.split == BatchSplit::kEvenSizes) return;
  if (options.split != BatchSplit::kEachBatch) {
    refuse(to_string(options.split) + " is no way to split batches",
           "use BatchSplit::kEvenSizes or BatchSplit::kEachBatch", site);
  }
  if (options.elements == ElementUse::kPerReplica) {
    refuse("elements that replicas take whole cannot be split by each batch",
           "leave split out, or distribute global batches", site);
  }
}

void require_filled_parts(std::int64_t batch, const BatchParts& parts,
                          const DistributeOptions& options, CallSite site) {
  const std::int64_t size = parts.size_of(batch);
  const auto refuse_sizes = [&](const std::string& whom, const std::string& hint) {
    refuse("global batches of " + std::to_string(batch) + " in parts of " + std::to_string(size) +
               " leave " + whom + " without examples",
           hint, site);
  };
  if (options.end_of_data == EndOfData::kDropPartialStep && parts.leave_some_out(batch)) {
    refuse_sizes(
        "some of " + std::to_string(parts.count) + " replicas",
        "use batches of a multiple of the replicas, or pad or mask those that get nothing");
  }
  if (options.end_of_data == EndOfData::kMaskReplicas && size * parts.first >= batch) {
    refuse_sizes("worker " + std::to_string(options.worker), "use larger batches, or pad");
  }
}

void require_enough_rows(const std::vector<std::int64_t>& sizes, int replicas, EndOfData policy,
                         CallSite site) {
  const bool every_share = policy == EndOfData::kDropPartialStep;
  const auto width = every_share ? 1 : replicas;
  for (auto step = sizes.begin(); step != sizes.end(); step += width) {
    if (std::accumulate(step, step + width, std::int64_t{0}) > 0) continue;
    const std::int64_t rows = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    refuse("a global batch of " + std::to_string(rows) + " is too small for " +
               std::to_string(sizes.size()) + " replicas",
           every_share ? "use larger batches, or pad or mask the replicas that get nothing"
                       : "use larger batches: this worker would have steps without examples",
           site);
  }
}

void throw_not_batches(CallSite site) {
  refuse("the elements of this dataset are no batches and cannot be shared out",
         "call batch(n) first, or let each replica take elements: ElementUse::kPerReplica", site);
}

void throw_data_ended(CallSite site) {
  throw InvalidArgumentError(ErrorCode::kOutOfBounds, "there is no step left",
                             "write a loop over the data, or repeat() the dataset", site);
}

void throw_no_empty_form(CallSite site) {
  refuse("elements that are no batches cannot be padded: there is no empty one",
         "call batch(n) first, or drop the partial step, or mask replicas", site);
}

void throw_too_few_rows(std::int64_t rows, int replicas, CallSite site) {
  refuse("a batch of " + std::to_string(rows) + " leaves some of " + std::to_string(replicas) +
             " replicas without examples, and it is not the last one",
         "say the size with with_batch_size, use larger batches, or pad or mask", site);
}

void throw_no_rows(std::int64_t rows, int worker, CallSite site) {
  refuse("a batch of " + std::to_string(rows) + " leaves worker " + std::to_string(worker) +
             " without examples, and it is not the last one",
         "use larger batches, or pad", site);
}

}  // namespace detail
}  // namespace belfry
