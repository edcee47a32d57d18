// Which tensor overflowed, when, and at which scale? The scaler's ledger records it, and the training loop never waits
// for the device. The example makes three hundred steps of a model with four tensors. Two of the steps have gradients
// that are not finite.
#include <syclamp/syclamp.hpp>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

int main() try {
  const syclamp::engine engine;
  sycl::queue& queue = engine.queue();

  // Gradients of four tensors, one after the other in a single allocation. The ledger reports tensors by these names.
  const std::vector<std::pair<std::string, std::size_t>> layers = {
      {"embedding", 400'000}, {"attention.query", 65'536}, {"attention.bias", 256}, {"head", 100'000}};
  std::size_t elements = 0;
  for (const auto& [name, size] : layers) elements += size;
  const std::vector<sycl::half> usual(elements, static_cast<sycl::half>(0.75f));
  const syclamp::device_array gradients(engine, usual);
  std::vector<syclamp::tensor> tensors;
  std::size_t first = 0;
  for (const auto& [name, size] : layers) {
    tensors.push_back({.data = gradients.data() + first, .count = size, .name = name});
    first += size;
  }
  const syclamp::tensor_list list(engine, tensors);
  sycl::half* query = gradients.data() + 400'000;
  sycl::half* bias = query + 65'536;

  // The ledger keeps the last 1024 steps. The handler of on_step is called for each step that the device has finished.
  syclamp::loss_scaler scaler(engine);
  scaler.prepare(list);  // allocates now, so that the loop does not
  std::vector<std::string> told;
  scaler.on_step([&](const syclamp::ledger_entry& entry) {
    const syclamp::step_record& record = entry.record;
    if (record.was_applied()) return;
    told.push_back(entry.first_nonfinite_name + '[' + std::to_string(record.first_nonfinite) + ']');
    std::cout << "step " << record.step << ": " << syclamp::to_string(record.outcome) << " at scale " << record.scale
              << ", first in " << told.back() << "; " << record.inf_count << " Inf and " << record.nan_count
              << " NaN of " << record.elements << "; next scale " << record.next_scale << '\n';
  });

  const auto usual_value = static_cast<sycl::half>(0.75f);
  const auto infinite = static_cast<sycl::half>(1e6f);                 // above 65504, the largest FP16 number
  const auto not_a_number = static_cast<sycl::half>(0.0f * infinite);  // 0 · Inf
  const std::uint64_t waits_before = engine.statistics().waits;
  for (int step = 1; step <= 300; ++step) {
    if (step == 120) queue.copy(&infinite, query + 1234, 1);  // stands for a backward pass that overflows
    if (step == 200) queue.copy(&not_a_number, bias + 7, 1);
    scaler.begin_step();
    scaler.inspect(list);  // returns the decision, which your optimizer's kernels would read
    scaler.update();       // calls the handler for steps that have finished by now
    if (step == 120) queue.copy(&usual_value, query + 1234, 1);
    if (step == 200) queue.copy(&usual_value, bias + 7, 1);
  }
  const std::uint64_t waits_in_loop = engine.statistics().waits - waits_before;
  engine.wait();
  scaler.report();  // calls the handler for the remaining steps

  // The ledger also shows how far the gradients of the applied steps were from overflow.
  double least_room = 100;
  for (const syclamp::ledger_entry& entry : scaler.ledger())
    if (entry.record.was_applied()) least_room = std::min(least_room, entry.record.headroom());
  const syclamp::step_record last = scaler.outcome();
  std::cout << last.applied << " applied, " << last.skipped << " skipped; the loop waited " << waits_in_loop
            << " times; gradients could have been doubled " << static_cast<int>(least_room)
            << " times before they overflowed\n";
  const std::vector<std::string> expected{"attention.query[1234]", "attention.bias[7]"};
  return told == expected && waits_in_loop == 0 && last.skipped == 2 ? 0 : 1;
} catch (const syclamp::error& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
