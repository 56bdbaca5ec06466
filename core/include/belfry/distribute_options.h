// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace belfry {

/// What becomes of a partial step: one in which the data ends before every replica has its share
/// (SEM-96).
enum class EndOfData : std::uint8_t {
  kDropPartialStep = 1,  ///< It is left out, with the examples it had.
  kPadWithEmpties,       ///< Replicas without examples run on a batch of none.
  kMaskReplicas,         ///< Replicas without examples take no part in it.
};

/// `drop partial step`, `pad with empties` or `mask replicas`.
std::string to_string(EndOfData policy);

/// What one element of a distributed dataset is for.
enum class ElementUse : std::uint8_t {
  kGlobalBatch,  ///< Examples of all replicas: a batch that is shared out.
  kPerReplica,   ///< What one replica gets: each takes the next element.
};

/// How the rows of global batches become the shares of replicas.
enum class BatchSplit : std::uint8_t {
  kEvenSizes,  ///< If their size is known, by sizes that differ by at most 1 (SEM-95).
  kEachBatch,  ///< Each batch in parts of b / N rows, rounded up, for all workers (SEM-142).
};

/// `even sizes` or `each batch`.
std::string to_string(BatchSplit split);

/// How a dataset is distributed.
struct DistributeOptions {
  EndOfData end_of_data;  ///< To be chosen: there is no default.
  ElementUse elements = ElementUse::kGlobalBatch;
  /// How many steps are made ready ahead of the one that is handed out. Their tensors are on their
  /// way to the devices while earlier steps are computed. Only the time of reading changes.
  int prefetch = 0;
  int num_workers = 1;  ///< Strategies like this one that read a share of the data each.
  int worker = 0;       ///< Which of them this one is.
  /// TensorFlow uses even sizes if automatic sharding is off, and cuts each batch by default if the
  /// data are in memory. With `kEachBatch` the dataset of every worker holds the data of all.
  BatchSplit split = BatchSplit::kEvenSizes;
};

}  // namespace belfry
