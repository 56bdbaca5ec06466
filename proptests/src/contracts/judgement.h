// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/contracts.h"

#include <functional>
#include <string>

namespace belfry::testing {

/// The options, with the number of cases and the seed of RapidCheck's environment unless set.
ContractOptions settled(ContractOptions options);

/// Tries a property on random cases. The text is empty if all cases kept the property; else the
/// mistake and the shrunk case, or RapidCheck's reason for giving up.
std::string mistake_of(const std::function<void()>& property, const std::string& name,
                       const ContractOptions& options);

}  // namespace belfry::testing
