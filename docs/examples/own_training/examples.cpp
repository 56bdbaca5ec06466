// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "examples.h"

#include <belfry/files/csv.h>

#include <cstddef>
#include <utility>

namespace own_training {

Examples read_digits(const std::string& path) {
  constexpr int kPixels = 64;
  constexpr float kDarkest = 16;
  const belfry::CsvTable table = belfry::read_csv(path);
  Examples digits{kPixels, table.numbers<float>(0, kPixels).values<float>(),
                  table.numbers_of<std::int32_t>(kPixels).values<std::int32_t>()};
  for (float& pixel : digits.values) pixel /= kDarkest;
  return digits;
}

Batch make_batch(const Examples& examples, std::span<const int> rows) {
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  for (const int row : rows) {
    const auto begin = examples.values.begin() + std::ptrdiff_t{row} * examples.inputs;
    values.insert(values.end(), begin, begin + examples.inputs);
    labels.push_back(examples.labels[static_cast<std::size_t>(row)]);
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  return {belfry::Tensor<float>::from({count, examples.inputs}, values),
          belfry::Tensor<std::int32_t>::from({count}, labels)};
}

}  // namespace own_training
