// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/flight_recorder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace belfry::testing {

/// A folder for each test, and the files of flight recorders there. Needs GoogleTest and
/// nlohmann's JSON.
class FlightFiles : public ::testing::Test {
 protected:
  ~FlightFiles() override { std::filesystem::remove_all(folder); }

  /// The file of a rank, of a recorder with `prefix`.
  std::string path(int rank) const { return folder + "/run-rank" + std::to_string(rank) + ".json"; }
  /// The contents of the file of a rank.
  nlohmann::json file(int rank) const { return nlohmann::json::parse(std::ifstream(path(rank))); }

  /// A new folder below the folder for temporary files.
  std::string folder = [] {
    std::string name = (std::filesystem::temp_directory_path() / "flight-XXXXXX").string();
    return std::string(::mkdtemp(name.data()));
  }();
  /// For the recorder of the test.
  std::string prefix = folder + "/run-";
};

/// The entries of a file in groups of a kind: `strategy`, `communicator`.
inline std::vector<nlohmann::json> flight_entries(const nlohmann::json& file,
                                                  const std::string& about) {
  std::vector<nlohmann::json> found;
  for (const nlohmann::json& entry : file["entries"]) {
    if (entry["process_group"][1] == about) found.push_back(entry);
  }
  return found;
}

}  // namespace belfry::testing
