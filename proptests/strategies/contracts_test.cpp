// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Belfry's own strategies, and the example of a user's, keep every contract.
#include "belfry/strategies.h"
#include "belfry/testing/contract_tests.h"
#include "local_sgd_trained.h"
#include "strategies/central_factory.h"
#include "strategies/folding_strategy.h"
#include "strategies/one_replica_factories.h"

namespace belfry::testing::contracts_test {
namespace {

const StrategyOf<MirroredStrategy> mirrored("mirrored");
const CentralFactory central;
const StorageApartFactory apart;
const StrategyOf<TrainedSgd> local_sgd("local SGD", {}, &TrainedSgd::mistake);
const StrategyOf<FoldingStrategy> folding("folding", {.uses_collectives = false});
const OneDeviceFactory one_device;
const DefaultFactory standard;

const bool registered = [] {
  register_contract_tests("MirroredStrategy", mirrored, backend_factory());
  register_contract_tests("CentralStorageStrategy", central, backend_factory());
  register_contract_tests("StorageApart", apart, backend_factory());
  register_contract_tests("LocalSgdStrategy", local_sgd, backend_factory());
  register_contract_tests("FoldingStrategy", folding, backend_factory());
  register_contract_tests("OneDeviceStrategy", one_device, backend_factory());
  register_contract_tests("DefaultStrategy", standard, backend_factory());
  return true;
}();

}  // namespace
}  // namespace belfry::testing::contracts_test
