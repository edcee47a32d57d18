// SPDX-License-Identifier: Apache-2.0
// A curve of measured points with bounded size, however long the run is.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "syclamp/error.hpp"

namespace syclamp::training {

/// Points in the order in which they were added. All of them up to `most`; of more only every second one is kept, then
/// every fourth, and so on. First and last are always there. What is kept is a function of what was added, and of
/// nothing else: a run that was interrupted has the same curve as one that was not.
template <typename Point>
class curve {
 public:
  static constexpr std::uint64_t most = 8192;

  curve() = default;

  /// Continues a saved curve.
  /// \throws invalid_argument unless a curve to which so many points were added keeps as many as these
  curve(std::vector<Point> points, std::uint64_t added) : points_(std::move(points)), added_(added) {
    const std::uint64_t kept = added == 0 ? 0 : (added - 1) / stride() + 1 + (last_is_extra() ? 1 : 0);
    if (points_.size() != kept)
      throw invalid_argument(
          fmt::format("a curve of {} points keeps {}, but there are {}; the file is damaged, so use another copy",
                      added, kept, points_.size()));
  }

  void add(const Point& point) {
    if (last_is_extra()) points_.pop_back();
    const std::uint64_t before = stride();
    ++added_;
    if (stride() != before) {
      for (std::size_t i = 0; 2 * i < points_.size(); ++i) points_[i] = points_[2 * i];
      points_.resize(points_.size() / 2, point);
    }
    points_.push_back(point);
  }

  const std::vector<Point>& points() const { return points_; }
  bool empty() const { return points_.empty(); }
  const Point& back() const { return points_.back(); }  ///< the last that was added
  std::uint64_t added() const { return added_; }        ///< also those that were not kept

 private:
  /// Points number 0, stride, 2 · stride, … are kept.
  std::uint64_t stride() const { return added_ == 0 ? 1 : std::bit_ceil((added_ - 1) / most + 1); }
  bool last_is_extra() const { return added_ != 0 && (added_ - 1) % stride() != 0; }

  std::vector<Point> points_;
  std::uint64_t added_ = 0;
};

}  // namespace syclamp::training
