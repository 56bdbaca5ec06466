// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A kernel with a pointer to memory of the host, for the page on kernels.
#include <belfry/belfry.h>
#include <belfry/launch.h>
#include <belfry/sim/backend.h>

#include <cstddef>
#include <iostream>
#include <span>
#include <string>
#include <vector>

using namespace belfry;

namespace {

// [kernel]
/// *count += the number of elements above 1.
struct CountLarge {
  std::size_t* count;

  void on_host(std::span<const float> x) const {
    for (float value : x) *count += value > 1 ? 1 : 0;
  }
};
// [kernel]

void mistake(sim::Backend& backend) {
  // [race]
  std::size_t count = 0;
  const auto x = Tensor<float>::full({3}, 2, Placement{&backend, 0});
  launch(CountLarge{&count}, reads(x));
  std::cout << count << '\n';  // The mistake: the stream may be at work.
  // [race]
  backend.device(0).compute_stream().synchronize();
}

void waits(sim::Backend& backend) {
  // [waits]
  std::size_t count = 0;
  const auto x = Tensor<float>::full({3}, 2, Placement{&backend, 0});
  launch(CountLarge{&count}, reads(x));
  x.to_host();  // waits for the stream
  std::cout << count << '\n';
  // [waits]
}

// Replica 0 launches the body. Replica 1 reads the count: after a merge, or, by mistake, at once.
void share(sim::Backend& backend, bool merges) {
  MirroredStrategy strategy{backend};
  std::size_t count = 0;
  std::size_t seen = 0;
  strategy.run([&](ReplicaContext& replica) {
    const auto x = Tensor<float>::full({3}, 2);
    if (replica.replica_id() == 0) {
      launch(CountLarge{&count}, reads(x));
      x.to_host();
    }
    if (merges) replica.merge_call([](CrossReplicaContext&) {});
    if (replica.replica_id() == 1) {
      seen = count;  // The mistake, without the merge.
    }
  });
  std::cout << (merges ? seen : count) << '\n';
}

// The host writes memory of the program while a kernel may use the memory, or after a wait.
void write_over(sim::Backend& backend, bool waits) {
  std::vector<float> memory(3, 2.0F);
  std::size_t count = 0;
  {
    const auto x = Tensor<float>::over({3}, std::span(memory), Placement{&backend, 0});
    launch(CountLarge{&count}, reads(x));
    if (waits) x.to_host();
    memory[0] = 0;  // The mistake, without the wait.
    x.to_host();
  }
  std::cout << (waits ? count : 0) << '\n';
}

}  // namespace

// Without an argument the programs without a mistake run; else the named mistake.
int main(int argc, char** argv) {
  const std::string argument = argc > 1 ? argv[1] : "";
  sim::Backend backend{{.devices = 2}};
  if (argument == "host") {
    mistake(backend);
  } else if (argument == "replica") {
    share(backend, false);
  } else if (argument == "memory") {
    write_over(backend, false);
  } else {
    waits(backend);
    share(backend, true);
    write_over(backend, true);
  }
}
