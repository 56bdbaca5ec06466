// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Draws the pictures of the pages anew: `doc_pictures docs/pictures`.
#include "scenes.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <utility>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: doc_pictures FOLDER\n";
    return 2;
  }
  const std::pair<const char*, pictures::Drawing (*)()> scenes[] = {
      {"additions", pictures::additions},
      {"all_reduce", pictures::all_reduce},
      {"job", pictures::job},
      {"merge", pictures::merge},
      {"race", pictures::race},
      {"replica", pictures::replica},
      {"ring", pictures::ring},
      {"tower_local", pictures::tower_local},
      {"variables", pictures::variables},
  };
  for (const auto& [name, draw] : scenes) {
    std::ofstream file(std::filesystem::path(argv[1]) / (std::string(name) + ".svg"),
                       std::ios::binary);
    if (!(file << draw().svg() << std::flush)) {
      std::cerr << "cannot write " << argv[1] << '/' << name << ".svg\n";
      return 1;
    }
  }
}
