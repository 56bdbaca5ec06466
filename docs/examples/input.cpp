// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Brings data to replicas, in the steps of docs/input.md; each prints its name and its results.
#include <belfry/belfry.h>
#include <belfry/files/csv.h>
#include <belfry/files/npy.h>
#include <belfry/sim/backend.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace belfry;

namespace {

void heading(const char* name) { std::cout << "== " << name << '\n'; }

void print(const std::vector<int>& numbers) {
  std::cout << '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) std::cout << (i == 0 ? "" : " ") << numbers[i];
  std::cout << "] ";
}

void datasets() {
  heading("dataset");
  // [dataset]
  const auto squares = Dataset<int>::range(7).map([](int i) { return i * i; });
  for (const std::vector<int>& batch : squares.batch(3)) print(batch);
  // [dataset]
  std::cout << '\n';

  heading("epochs");
  // [epochs]
  const auto shuffled = Dataset<int>::range(4).shuffle(1);
  for (const std::vector<int>& epoch : shuffled.repeat(2).batch(4)) print(epoch);
  for (const std::vector<int>& epoch : shuffled.batch(4)) print(epoch);
  for (const std::vector<int>& epoch : shuffled.epoch(1).batch(4)) print(epoch);
  // [epochs]
  std::cout << '\n';

  heading("generator");
  // [generator]
  const auto powers = Dataset<int>::from_generator([] {
    return [next = 1]() mutable -> std::optional<int> {
      return next > 50 ? std::nullopt : std::optional(std::exchange(next, 2 * next));
    };
  });
  for (int power : powers) std::cout << power << ' ';
  // [generator]
  std::cout << '\n';
}

void shares() {
  heading("shares");
  // [shares]
  sim::Backend backend{{.devices = 3}};
  MirroredStrategy strategy{backend};
  const auto dataset = Dataset<int>::range(11).batch(7);

  for (const auto& step :
       strategy.distribute_dataset(dataset, {.end_of_data = EndOfData::kPadWithEmpties})) {
    for (const std::vector<int>& share : step) print(share);
    std::cout << '\n';
  }
  // [shares]

  heading("each_batch");
  // [each_batch]
  for (const BatchSplit split : {BatchSplit::kEvenSizes, BatchSplit::kEachBatch}) {
    const DistributeOptions options{.end_of_data = EndOfData::kPadWithEmpties, .split = split};
    for (const auto& step : strategy.distribute_dataset(dataset, options)) {
      for (const std::vector<int>& share : step) print(share);
    }
    std::cout << '\n';
  }
  // [each_batch]
}

void own_sizes() {
  heading("own_sizes");
  sim::Backend backend{{.devices = 3}};
  MirroredStrategy strategy{backend};
  // [own_sizes]
  const auto own_sizes = Dataset<int>::range(10).batch(5).rebatch({3, 1, 1});
  for (const auto& step : strategy.distribute_dataset(
           own_sizes,
           {.end_of_data = EndOfData::kDropPartialStep, .elements = ElementUse::kPerReplica})) {
    for (const std::vector<int>& share : step) print(share);
    std::cout << '\n';
  }
  // [own_sizes]
}

void ends() {
  sim::Backend backend{{.devices = 3}};
  MirroredStrategy strategy{backend};
  const auto dataset = Dataset<int>::range(11).batch(7);

  heading("masked");
  // [masked]
  for (const auto& step :
       strategy.distribute_dataset(dataset, {.end_of_data = EndOfData::kMaskReplicas})) {
    const PerReplica<double> means = strategy.run(
        [](ReplicaContext& replica, const std::vector<int>& share) {
          const double sum = std::accumulate(share.begin(), share.end(), 0.0);
          const double count = replica.all_reduce(ReduceOp::kSum, double(share.size()));
          return replica.all_reduce(ReduceOp::kSum, sum) / count;
        },
        step);
    std::cout << *means.begin() << (means.has(2) ? " on all\n" : " without replica 2\n");
  }
  // [masked]

  heading("uneven");
  // [uneven]
  const std::vector<std::vector<double>> lists{{1, 2, 3}, {4, 5, 6}, {7, 8}};
  for (std::size_t step = 0; step < 3; ++step) {
    std::vector<std::optional<double>> own;
    for (const auto& list : lists) {
      own.push_back(step < list.size() ? std::optional(list[step]) : std::nullopt);
    }
    std::cout << strategy.run([](ReplicaContext& replica,
                                 double x) { return replica.all_reduce(ReduceOp::kMean, x); },
                              PerReplica<double>::from(own))
              << '\n';
  }
  // [uneven]
}

void several_steps() {
  heading("several_steps");
  // [several_steps]
  sim::Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  std::vector<PerReplica<std::vector<int>>> window;
  for (const auto& step : strategy.distribute_dataset(
           Dataset<int>::range(8).batch(4), {.end_of_data = EndOfData::kPadWithEmpties})) {
    window.push_back(step);
  }
  strategy.run(
      [](ReplicaContext& replica, const std::vector<std::vector<int>>& steps) {
        for (const std::vector<int>& share : steps) {
          const int own = std::accumulate(share.begin(), share.end(), 0);
          const int sum = replica.all_reduce(ReduceOp::kSum, own);
          if (replica.replica_id() == 0) std::cout << sum << ' ';
        }
      },
      window);
  // [several_steps]
  std::cout << '\n';
}

void tensors() {
  heading("tensors");
  // [tensors]
  sim::Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  const auto examples = Dataset<int>::range(6).map([](int i) {
    return std::pair(Tensor<float>::full({2}, float(i)), i % 2);  // An image and its label.
  });

  for (const auto& step : strategy.distribute_dataset(
           examples.batch(4), {.end_of_data = EndOfData::kMaskReplicas, .prefetch = 1})) {
    strategy.run(
        [](ReplicaContext& replica, const auto& share) {
          const auto& [images, labels] = share;
          if (replica.replica_id() == 1) return;
          std::cout << to_string(images.shape()) << " on " << to_string(replica.device()) << ' ';
          print(labels);
        },
        step);
  }
  // [tensors]
  std::cout << '\n';
}

void input_functions() {
  heading("input_function");
  // [input_function]
  sim::Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  const auto input = [](const InputContext& context) {
    return Dataset<int>::range(8)
        .shard(context.num_input_pipelines, context.input_pipeline_id)
        .batch(context.get_per_replica_batch_size(4));
  };
  for (const auto& step : strategy.distribute_datasets_from_function(
           input, {.end_of_data = EndOfData::kDropPartialStep})) {
    print(step[0]);
    print(step[1]);
  }
  const PerReplica<int> seeds = strategy.distribute_values_from_function(
      [](const ValueContext& context) { return 100 + context.replica_id; });
  std::cout << seeds[0] << ' ' << seeds[1];
  // [input_function]
  std::cout << '\n';
}

void positions() {
  heading("position");
  // [position]
  const auto rows = Dataset<int>::range(10).batch(4);
  const DistributeOptions options{.end_of_data = EndOfData::kMaskReplicas};
  TensorFile file;
  {
    sim::Backend backend{{.devices = 3}};
    MirroredStrategy strategy{backend};
    const auto data = strategy.distribute_dataset(rows, options);
    Checkpoint checkpoint{strategy};
    checkpoint.add("rows", data);
    for (const auto& step : data) {
      for (const std::vector<int>& share : step) print(share);
      file = checkpoint.contents();  // Or save(path).
      break;
    }
  }
  std::cout << '\n';
  sim::Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  const auto data = strategy.distribute_dataset(rows, options);
  Checkpoint checkpoint{strategy};
  checkpoint.add("rows", data).restore(file);
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const auto& step : data) {
      for (const std::vector<int>& share : step) print(share);
    }
    std::cout << '\n';
  }
  // [position]
}

std::string npy_file() {
  std::string header = "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n";
  const std::string elements("\0\0\12\0\1\0\13\0\2\0\14\0", 12);
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header +
         elements;
}

void files() {
  heading("csv");
  // [csv]
  std::istringstream file("height,weight,label\n1.5,62,0\n1.75,80.5,1\n");
  const CsvTable table = parse_csv(file, "people.csv", {.has_header = true});
  const auto people = table.columns<float>({"height", "weight"}).rows<float>();
  const auto labels = table.numbers_of<std::int32_t>("label").elements<std::int32_t>();
  for (const auto& [person, label] : people.zip(labels)) {
    std::cout << label << ": " << person[0] << " m, " << person[1] << " kg\n";
  }
  // [csv]

  heading("npy");
  const std::string bytes = npy_file();
  // [npy]
  const HostArray array = parse_npy(std::as_bytes(std::span(bytes)), "weights.npy");
  std::cout << to_string(array.dtype()) << to_string(array.shape());
  for (const std::vector<std::int16_t>& row : array.rows<std::int16_t>()) {
    std::cout << ' ' << std::accumulate(row.begin(), row.end(), 0);
  }
  // [npy]
  std::cout << '\n';
}

void mistakes() {
  heading("mistakes");
  // [mistakes]
  std::istringstream file("1,2\n3,four\n");
  try {
    parse_csv(file, "people.csv").numbers<float>();
  } catch (const InvalidArgumentError& error) {
    std::cout << error.report().summary << '\n';
  }
  // [mistakes]
}

}  // namespace

int main() {
  datasets();
  shares();
  own_sizes();
  ends();
  several_steps();
  tensors();
  input_functions();
  positions();
  files();
  mistakes();
}
