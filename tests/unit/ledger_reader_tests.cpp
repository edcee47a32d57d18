// SPDX-License-Identifier: Apache-2.0
// The ledger is read while it is written: the writer's protocol (publish in sycl_kernels/scaler/update.hpp), store by
// store, against the reader, load by load.
#include <atomic>
#include <bit>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "scaler/ledger_reader.hpp"

using namespace syclamp;
using kernels::ledger_slot;

namespace {

step_record record_of(std::uint64_t step, std::uint32_t scale) {
  step_record record;
  record.step = step;
  record.scale_index = scale;
  record.applied = step * 3;
  record.elements = step * 0x100000001;
  record.norm = static_cast<float>(step % 1000);
  return record;
}

/// The device: stores one 32-bit word at a time, in the order of its kernel. The work-items of a step, one per scale,
/// take turns as `order` says.
class writer {
 public:
  enum class turns { ascending, descending, alternating };

  writer(std::uint64_t steps, std::uint32_t scales, std::uint64_t first_step, turns order)
      : slots((steps + 1) * scales), finished(first_step - 1), scales_(scales), order_(order) {}

  void store() {
    if (next_ == stores_.size()) begin_step();
    const auto [to, value] = stores_[next_++];
    std::atomic_ref<std::uint32_t>(*to).store(value, std::memory_order_release);
    if (next_ == stores_.size()) finished.store(finished + 1, std::memory_order_release);
  }
  void write_step() {
    do store();
    while (next_ != stores_.size());
  }
  std::uint64_t stores_per_step() const { return scales_ * (kernels::record_words + 6); }

  std::vector<ledger_slot> slots;
  std::atomic<std::uint64_t> finished;  ///< steps

 private:
  struct assignment {
    std::uint32_t* to;
    std::uint32_t value;
  };

  void begin_step() {
    stores_.clear();
    next_ = 0;
    std::vector<std::vector<assignment>> items;
    for (std::uint32_t scale = 0; scale < scales_; ++scale) items.push_back(stores_of(finished + 1, scale));
    if (order_ == turns::descending) std::reverse(items.begin(), items.end());
    if (order_ == turns::alternating) {
      for (std::size_t i = 0; i < items[0].size(); ++i)
        for (const auto& item : items) stores_.push_back(item[i]);
    } else {
      for (const auto& item : items) stores_.insert(stores_.end(), item.begin(), item.end());
    }
  }

  std::vector<assignment> stores_of(std::uint64_t step, std::uint32_t scale) {
    std::vector<assignment> stores;
    const std::uint64_t number = (step - 1) * scales_ + scale + 1;
    ledger_slot& slot = slots[(number - 1) % slots.size()];
    const auto words = std::bit_cast<record_content>(record_of(step, scale));
    const auto publish = [&](std::uint64_t* to, std::uint64_t value) {
      auto* halves = reinterpret_cast<std::uint32_t*>(to);
      stores.push_back({&halves[0], static_cast<std::uint32_t>(value)});
      stores.push_back({&halves[1], static_cast<std::uint32_t>(value >> 32)});
    };
    publish(&slot.number, 0);
    auto* to = reinterpret_cast<std::uint32_t*>(&slot.record);
    for (std::size_t i = 0; i < words.size(); ++i) stores.push_back({to + i, words[i]});
    publish(&slot.check, check_of(number, words));
    publish(&slot.number, number);
    return stores;
  }

  std::uint32_t scales_;
  turns order_;
  std::vector<assignment> stores_;
  std::size_t next_ = 0;
};

/// Lets the writer run between two loads of the reader.
struct interleaving {
  struct pause {
    std::uint64_t load, stores;  ///< before which load, and how much is stored meanwhile
  };
  writer* device = nullptr;
  std::vector<pause> pauses;
  std::uint64_t loads = 0;
};

struct interleaved_memory {
  interleaving* plan = nullptr;

  template <typename T>
  T load(const T& from, std::memory_order) const {
    for (const auto& pause : plan->pauses)
      if (pause.load == plan->loads)
        for (std::uint64_t i = 0; i < pause.stores; ++i) plan->device->store();
    ++plan->loads;
    T value;
    std::memcpy(&value, &from, sizeof value);
    return value;
  }
};

/// Whole steps without a gap, each with its own content, at most `steps` of them.
bool is_sound(const std::vector<ledger_slot>& found, std::uint64_t steps, std::uint32_t scales) {
  if (found.size() % scales != 0 || found.size() > steps * scales) return false;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::uint64_t number = found.front().number + i, step = (number - 1) / scales + 1;
    const step_record expected = record_of(step, static_cast<std::uint32_t>((number - 1) % scales));
    if (found[i].number != number || std::memcmp(&found[i].record, &expected, sizeof expected) != 0) return false;
  }
  return found.empty() || (found.front().number - 1) % scales == 0;
}

std::uint64_t newest_of(const std::vector<ledger_slot>& found, std::uint32_t scales) {
  return found.empty() ? 0 : found.back().number / scales;
}

}  // namespace

TEST_CASE("a reader that is held up anywhere, for as long as you like, finds whole steps in order and the newest one") {
  const auto steps = GENERATE(std::uint64_t{1}, std::uint64_t{3});
  const auto scales = GENERATE(1u, 2u);
  const auto order = GENERATE(writer::turns::ascending, writer::turns::descending, writer::turns::alternating);
  if (scales == 1 && order != writer::turns::ascending) return;
  const bool is_empty_at_first = GENERATE(true, false);
  // The numbers of the records pass 2^32, where their halves change together.
  const std::uint64_t before = is_empty_at_first ? 0 : ((std::uint64_t{1} << 32) / scales) - steps - 1;
  CAPTURE(steps, scales, before);
  std::uint64_t wrong = 0, went_back = 0, missed = 0, incomplete = 0, reads = 0;
  for (std::uint64_t load = 0; load < 600; load += 1 + load / 40)
    for (const std::uint64_t ahead : {0u, 1u, 43u}) {
      // Every store of the first steps, then whole rounds and a bit.
      const std::uint64_t per_step = scales * (kernels::record_words + 6);
      for (std::uint64_t stores = 0; stores < (2 * steps + 4) * per_step; stores += 1 + stores / (2 * per_step) * 7) {
        writer device(steps, scales, before + 1, order);
        std::uint64_t newest = before;
        for (std::uint64_t i = 0; i < (is_empty_at_first ? 0 : steps + 2); ++i) device.write_step();
        for (std::uint64_t i = 0; i < ahead; ++i) device.store();
        const std::uint64_t finished = device.finished;
        interleaving plan{&device, {{load, stores}}};
        const auto found =
            ledger_reader<interleaved_memory>(device.slots.data(), steps, scales, {&plan}).read(0, newest);
        ++reads;
        wrong += !is_sound(found, steps, scales);
        missed += finished > before && newest_of(found, scales) < finished;
        incomplete += found.size() != std::min(steps, newest_of(found, scales) - before) * scales && finished > before;
        const auto again = ledger_reader<shared_memory>(device.slots.data(), steps, scales).read(0, newest);
        went_back += newest_of(again, scales) < newest_of(found, scales);
        if (plan.loads <= load) break;  // the reader is done before
      }
    }
  CHECK(reads > 1000);
  CHECK(wrong == 0);
  CHECK(missed == 0);
  CHECK(incomplete == 0);
  CHECK(went_back == 0);
}

TEST_CASE("a reader that is held up again and again never goes back") {
  std::mt19937 random(17);
  const auto scales = GENERATE(1u, 3u);
  std::uint64_t wrong = 0, missed = 0;
  for (int run = 0; run < 400; ++run) {
    const std::uint64_t steps = 1 + random() % 5;
    writer device(steps, scales, 1, writer::turns::alternating);
    std::uint64_t newest = 0, last = 0;
    for (int read = 0; read < 20; ++read) {
      interleaving plan{&device, {}};
      for (std::uint64_t load = 0; load < 4000; load += 1 + random() % 400)
        plan.pauses.push_back(
            {load, random() % 4 == 0 ? random() % (3 * steps * device.stores_per_step()) : random() % 50});
      const std::uint64_t finished = device.finished;
      const auto found = ledger_reader<interleaved_memory>(device.slots.data(), steps, scales, {&plan}).read(0, newest);
      wrong += !is_sound(found, steps, scales);
      missed += newest_of(found, scales) < std::max(finished, last);
      last = newest_of(found, scales);
    }
  }
  CHECK(wrong == 0);
  CHECK(missed == 0);
}

TEST_CASE("two threads: one writes as fast as it can, the other finds every step that was finished before it read") {
  const auto steps = GENERATE(std::uint64_t{2}, std::uint64_t{64});
  writer device(steps, 2, 1, writer::turns::alternating);
  std::atomic<bool> is_done = false;
  std::thread other([&] {
    for (int i = 0; i < 50'000; ++i) device.write_step();
    is_done = true;
  });
  std::uint64_t newest = 0, last = 0, wrong = 0, missed = 0, reads = 0;
  while (!is_done) {
    const std::uint64_t finished = device.finished.load(std::memory_order_acquire);
    const auto found = ledger_reader<shared_memory>(device.slots.data(), steps, 2).read(0, newest);
    ++reads;
    wrong += !is_sound(found, steps, 2);
    missed += newest_of(found, 2) < std::max(finished, last);
    last = newest_of(found, 2);
  }
  other.join();
  CHECK(reads > 0);
  CHECK(wrong == 0);
  CHECK(missed == 0);
}

TEST_CASE("records that were there before a number are left out") {
  writer device(4, 2, 1, writer::turns::ascending);
  for (int i = 0; i < 7; ++i) device.write_step();
  std::uint64_t newest = 0;
  const ledger_reader<shared_memory> reader(device.slots.data(), 4, 2);
  CHECK(reader.read(0, newest).size() == 8);
  CHECK(newest == 7);
  CHECK(reader.read(11, newest).size() == 3);
  CHECK(reader.read(11, newest).front().number == 12);
  CHECK(reader.read(14, newest).empty());
}
