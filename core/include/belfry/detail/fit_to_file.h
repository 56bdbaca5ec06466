// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/nest.h"
#include "belfry/tensor_file.h"

#include <cstddef>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace belfry::detail {

/// Whether a file has an array of this name, or arrays with this name as a beginning.
bool has_array(const TensorFile& file, const std::string& name);
bool has_arrays_below(const TensorFile& file, const std::string& beginning);
/// Whether a file has a leaf of the nest that is saved under this name.
bool has_leaves_of(const TensorFile& file, const std::string& name);
/// The keys of the map that is saved under this name.
std::vector<std::string> keys_of_map(const TensorFile& file, const std::string& name);
/// The length of an array of rank 1; nothing for other arrays.
std::optional<std::size_t> length_of_row(const TensorFile& file, const std::string& name);

/// The key with this text; nothing for types of keys that are not read from text.
template <class Key>
std::optional<Key> key_of_text(const std::string& text) {
  Key key{};
  if constexpr (std::is_same_v<Key, std::string>) {
    return text;
  } else if constexpr (requires(std::istream& in) { in >> key; }) {
    std::istringstream in(text);
    if (in >> key && key_text(key) == text) return key;
  }
  return std::nullopt;
}

template <class T>
void fit_to_file(T& value, const std::string& name, const TensorFile& file);

template <class Map>
void fit_map(Map& map, const std::string& name, const TensorFile& file) {
  const auto name_of_key = [&](const auto& key) { return name + "{" + key_text(key) + "}"; };
  std::erase_if(map,
                [&](const auto& entry) { return !has_leaves_of(file, name_of_key(entry.first)); });
  for (const std::string& text : keys_of_map(file, name)) {
    if (const auto key = key_of_text<typename Map::key_type>(text)) map.try_emplace(*key);
  }
  for (auto& [key, child] : map) fit_to_file(child, name_of_key(key), file);
}

/// Gives the containers of `value`, which is saved under `name`, the lengths and keys in the file.
template <class T>
void fit_to_file(T& value, const std::string& name, const TensorFile& file) {
  if constexpr (is_numeric_vector<T>()) {
    if (const auto length = length_of_row(file, name)) value.resize(*length);
  } else if constexpr (is_leaf<T>()) {
    // Its length is that of the array, or one.
  } else if constexpr (IsMap<T>::value) {
    fit_map(value, name, file);
  } else if constexpr (IsOptional<T>::value) {
    if (!has_leaves_of(file, name)) value.reset();
    if (!value && has_leaves_of(file, name)) value.emplace();
    if (value) fit_to_file(*value, name, file);
  } else {
    if constexpr (IsVector<T>::value) {
      std::size_t length = 0;
      while (has_leaves_of(file, name + "[" + std::to_string(length) + "]")) ++length;
      value.resize(length);
    }
    int index = 0;
    for_each_child(value, [&](auto& child) {
      fit_to_file(child, name + "[" + std::to_string(index++) + "]", file);
    });
  }
}

}  // namespace belfry::detail
