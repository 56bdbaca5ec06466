// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/error.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/replay_token.h"
#include "belfry/strategies.h"
#include "belfry/tensor.h"
#include "engine/digest.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace belfry;

// The choices of the token, or nothing for a refused token. Any further result is an error.
std::optional<std::vector<sim::Choice>> decoded(std::string_view token) {
  try {
    return sim::decode_choices(token);
  } catch (const InvalidArgumentError& error) {
    if (error.code() != ErrorCode::kReplay) std::abort();
    return std::nullopt;
  }
}

// Any bytes with the checksum of a token, for a random checksum is hardly ever right.
std::string token_of(std::string_view bytes) {
  std::uint64_t hash = bytes.size();
  for (const char byte : bytes) hash = engine::mix(hash, static_cast<std::uint8_t>(byte));
  std::string all(bytes);
  for (unsigned shift = 32; shift < 64; shift += 8) all += static_cast<char>(hash >> shift & 0xFF);
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string token = "bf1.";
  for (std::size_t bit = 0; bit < 8 * all.size(); bit += 6) {
    unsigned digit = 0;
    for (std::size_t i = bit; i < bit + 6; ++i) {
      const unsigned byte = i / 8 < all.size() ? static_cast<unsigned char>(all[i / 8]) : 0U;
      digit = digit << 1 | (byte >> (7 - i % 8) & 1U);
    }
    token += kDigits[digit];
  }
  return token;
}

// Choices in the form that a program of three replicas may ask for.
std::string token_of_likely_choices(std::string_view bytes) {
  std::vector<sim::Choice> choices;
  for (const char byte : bytes) {
    const auto bits = static_cast<unsigned char>(byte);
    const std::uint32_t count = 2 + (bits >> 1 & 3U);
    choices.push_back({static_cast<ChoiceKind>(bits & 1U), count, (bits >> 3) % count});
  }
  return sim::encode_choices(choices);
}

// A program that has the right result, or ends with the error of a bad replay.
void replay(const std::string& token) {
  try {
    sim::Backend backend{{.devices = 3, .schedule = sim::Schedule::replay(token)}};
    MirroredStrategy strategy{backend};
    const auto sums = strategy.run([](ReplicaContext& replica) {
      const auto own = static_cast<float>(replica.replica_id());
      const float sum = replica.all_reduce(ReduceOp::kSum, own);
      return sum + replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({1}, own)).item();
    });
    for (const float sum : sums) {
      if (sum != 6) std::abort();  // 0 + 1 + 2, twice.
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kReplay) std::abort();
  }
}

}  // namespace

// Any text is refused as no token, or is the token of its choices. A program that replays any
// choices ends with its result or with a message about the replay.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const std::string& token : {text, token_of(text), token_of_likely_choices(text)}) {
    const auto choices = decoded(token);
    if (!choices) continue;
    if (sim::encode_choices(*choices) != token) std::abort();
    replay(token);
  }
  return 0;
}
