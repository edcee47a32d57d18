// SPDX-License-Identifier: Apache-2.0
// Several ranks in one process, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "syclamp/syclamp.hpp"

/// Runs the same step on every rank, twice. The first time each rank only contributes its numbers to the consensus. The
/// second time it gets the sums over all ranks. A step must contribute the same numbers both times, so it makes a
/// new scaler and new weights.
class simulated_ranks {
 public:
  explicit simulated_ranks(std::uint32_t size) : contributions_(size) {}

  /// \param step  is called with the consensus of a rank, and returns what is to be known of the rank
  /// \return the results of the second time, one per rank
  template <typename Step>
  auto run(Step step) {
    std::vector<decltype(step(syclamp::consensus{}))> results;
    for (const bool adds : {false, true})
      for (std::uint32_t rank = 0; rank < contributions_.size(); ++rank) {
        calls_ = 0;
        auto result = step(make_consensus(rank, adds));
        if (adds) results.push_back(std::move(result));
      }
    return results;
  }

 private:
  using numbers = std::vector<float>;

  syclamp::consensus make_consensus(std::uint32_t rank, bool adds) {
    const auto sum = [this, rank, adds](sycl::queue& queue, float* memory, std::size_t count) {
      numbers own(count);
      queue.memcpy(own.data(), memory, count * sizeof(float)).wait();
      if (!adds) return contributions_[rank].push_back(own);
      const std::size_t call = calls_++;
      numbers sums(count);
      for (const auto& contributed : contributions_) {
        if (contributed.at(call).size() != count) throw std::logic_error("ranks disagree on the number of numbers");
        for (std::size_t i = 0; i < count; ++i) sums[i] += contributed[call][i];
      }
      queue.memcpy(memory, sums.data(), count * sizeof(float)).wait();
    };
    return {.sum = sum, .rank = rank, .size = static_cast<std::uint32_t>(contributions_.size())};
  }

  std::vector<std::vector<numbers>> contributions_;  ///< by rank and call
  std::size_t calls_ = 0;
};
