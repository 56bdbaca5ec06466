// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// C-bcast: broadcasts of every type.
#include "contracts/element_rows.h"
#include "contracts/own_value.h"

#include <algorithm>

namespace belfry::testing {
namespace {

// The replica with the value for all, and the replica with the value of this process; none in a
// process without devices.
struct Sources {
  int of_all;
  std::optional<int> own;
};

// The process of replica 0 is the source of several; values of the rest reach no replica.
Sources sources_of(const ContractSubject& subject, const ContractFixture& fixture,
                   std::uint64_t number) {
  const auto& own = fixture.own();
  const ProcessPlace* const place = subject.place;
  std::size_t count = own.size();
  if (place != nullptr) {
    const auto has_some = [](int devices) { return devices > 0; };
    count = static_cast<std::size_t>(*std::ranges::find_if(place->devices_of, has_some));
  }
  const int of_all = static_cast<int>(number % count);
  if (own.empty()) return {of_all, std::nullopt};
  return {of_all, own.front() == 0 ? of_all : own.front()};
}

// The broadcast of a tensor and of a host value.
template <class T>
void check_round(ContractFixture& fixture, const Shape& shape, const RowsOf<T>& rows,
                 const Sources& sources) {
  Strategy& strategy = fixture.strategy();
  const auto row = [&](int id) -> const std::vector<T>& {
    return rows[static_cast<std::size_t>(id)];
  };
  const auto tensor_of = [&](int id) { return Tensor<T>::from(shape, row(id)); };
  const auto tensors = strategy.distribute_values(tensor_of);
  const std::vector<T>& wanted = row(sources.of_all);
  const Tensor<T> source = sources.own ? tensors[*sources.own] : own_value(strategy, tensor_of);
  const std::vector<T>& own = row(sources.own.value_or(0));
  const auto everywhere = strategy.cross_replica().broadcast(source);
  const auto on_host = strategy.cross_replica().broadcast(own);
  const std::string of_type = " of " + to_string(dtype_of<T>());
  demand(everywhere.size() == strategy.num_replicas(),
         "a broadcast reached another number of replicas");
  for (const int id : fixture.own()) {
    const std::vector<T> got = everywhere[id].to_host();
    demand(everywhere[id].shape() == shape,
           "a broadcast" + of_type + " gave " + replica_text(id) + " another shape");
    demand(same_bits(got, wanted), "a broadcast" + of_type + " gave " + replica_text(id) + ' ' +
                                       text_of(got) + ", not " + text_of(wanted));
    demand(lives_at(everywhere[id], strategy.placement(id)),
           "a broadcast left the tensor of " + replica_text(id) + " on another device");
    demand(same_bits(on_host[id], wanted),
           "a broadcast of a host value gave " + replica_text(id) + " another one");
  }
  demand(same_bits(source.to_host(), own), "a broadcast changed its source");
  demand_nothing(strategy.run([&](ReplicaContext& replica) -> std::string {
    const int id = replica.replica_id();
    const Tensor<T> tensor = replica.broadcast(tensor_of(id), sources.of_all);
    const bool is_right = same_bits(tensor.to_host(), wanted) &&
                          lives_at(tensor, replica.placement()) &&
                          same_bits(replica.broadcast(row(id), sources.of_all), wanted);
    return is_right ? ""
                    : "a broadcast in a replica" + of_type + " gave " + replica_text(id) +
                          " another value";
  }));
}

}  // namespace

void check_broadcast(const ContractSubject& subject) {
  const Setting setting = draw_setting(subject);
  const Shape shape = draw_shape();
  const std::uint64_t seed = draw_seed();
  ContractFixture fixture(subject, setting);
  const int replicas = fixture.replicas();
  const auto check = [&]<class T>(T) {
    // More than once: a second broadcast shows values kept from the first.
    for (int round = 0; round < 2; ++round) {
      const auto from = seed + static_cast<std::uint64_t>(round);
      check_round(fixture, shape, rows_of<T>({Pattern::kRandom, from}, replicas, shape),
                  sources_of(subject, fixture, from));
    }
  };
  for_each_type<FloatingTypes>(check);
  for_each_type<IntegerTypes>(check);
}

}  // namespace belfry::testing
