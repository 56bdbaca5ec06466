// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <belfry/tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace own_training {

/// Labelled examples in memory of the host.
struct Examples {
  int inputs = 0;                    ///< The numbers of an example.
  std::vector<float> values;         ///< `inputs` numbers for each example.
  std::vector<std::int32_t> labels;  ///< A class for each example.

  int count() const { return static_cast<int>(labels.size()); }
};

/// Reads images of handwritten digits: in each line 64 pixels from 0 to 16, and the digit. Pixels
/// become numbers from 0 to 1. Throws: InvalidArgumentError (kFileFormat) with the place of the
/// fault.
Examples read_digits(const std::string& path);

/// Examples on a device.
struct Batch {
  belfry::Tensor<float> x;              ///< [rows, inputs].
  belfry::Tensor<std::int32_t> labels;  ///< [rows].
};

/// The examples numbered `rows` on the current device.
Batch make_batch(const Examples& examples, std::span<const int> rows);

}  // namespace own_training
