// Takes the gradients of one step from scaled FP16 and BF16 to clipped FP32. It prints how close each tensor is to
// overflow, the norms, and how many values would be lost in FP8. All work is done on the device. Only printing waits.
#include <syclamp/syclamp.hpp>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <vector>

int main() try {
  const syclamp::engine engine;
  const float loss_scale = 1024.0f;

  // A layer in group 0, the embedding in group 1. Their gradients belong to a loss that was multiplied by 1024.
  const std::uint64_t sizes[] = {300'000, 1'000, 500'000};
  std::vector<sycl::half> waves(sizes[0]);
  std::vector<float> sparse(sizes[2]);
  for (std::uint64_t i = 0; i < sizes[0]; ++i)
    waves[i] = static_cast<sycl::half>(std::sin(static_cast<float>(i)) * 1e-3f);
  for (std::uint64_t i = 0; i < sizes[2]; ++i) sparse[i] = i % 10 == 0 ? 2.0f : 0.0f;
  const syclamp::device_array layer(engine, waves);
  const syclamp::device_array<sycl::half> bias(engine, sizes[1], 40'000.0f);  // large, but still finite
  const syclamp::device_array embedding(engine, sparse);
  const syclamp::tensor_list scaled(engine, {{.data = layer, .name = "layer.weight", .group = 0},
                                             {.data = bias, .name = "layer.bias", .group = 0},
                                             {.data = embedding, .name = "embedding", .group = 1}});

  // FP32 memory for the unscaled gradients, and the few numbers that operations read and write on the device.
  const syclamp::device_array<float> memory(engine, sizes[0] + sizes[1] + sizes[2]);
  float* shadow = memory.data();
  const syclamp::tensor_list unscaled(
      engine, {{.data = shadow, .count = sizes[0], .name = "layer.weight", .group = 0},
               {.data = shadow + sizes[0], .count = sizes[1], .name = "layer.bias", .group = 0},
               {.data = shadow + sizes[0] + sizes[1], .count = sizes[2], .name = "embedding", .group = 1}});
  const syclamp::device_array<syclamp::clip_result> clip_results(engine, scaled.groups());

  // Made once and used on every step.
  const syclamp::inspector inspector(scaled, syclamp::inspection_level::tensors);

  // The step. The host does not wait. clip_by_group does not compile with gradients that are still scaled.
  const syclamp::unscaled_gradients gradients = inspector.unscale(unscaled, loss_scale);
  syclamp::clip_coefficients(engine, inspector.device_groups(), scaled.groups(), 1.0f, clip_results.data());
  syclamp::clip_by_group(gradients, clip_results.data());

  const std::vector<syclamp::inspection> tensors = inspector.tensors();  // waits
  for (std::size_t i = 0; i < tensors.size(); ++i)
    std::cout << scaled.name(i) << ": " << tensors[i].headroom() << " doublings to the largest FP16, "
              << 100.0 * static_cast<double>(tensors[i].zero_count) / static_cast<double>(tensors[i].elements)
              << " % zeros\n";
  const std::vector<syclamp::clip_result> clipped = clip_results.to_vector();
  for (std::uint32_t group = 0; group < scaled.groups(); ++group)
    std::cout << "group " << group << ": norm " << clipped[group].norm << ", multiplied by "
              << clipped[group].coefficient << '\n';

  // The same gradients in FP8, with a scale per tensor, and how many of them are outside the range.
  const syclamp::device_array<std::uint8_t> bytes(engine, sizes[0]);
  const syclamp::device_array<std::uint64_t> counter(engine, 1);
  const syclamp::tensor_list first(engine, {{.data = layer, .name = "layer.weight"}});
  const syclamp::tensor_list small(
      engine,
      {{.data = {bytes.data(), syclamp::element_type::float8_e5m2}, .count = sizes[0], .name = "layer.weight"}});
  const syclamp::inspector look_at_first(first, syclamp::inspection_level::tensors);
  const syclamp::delayed_scaling scales(small);
  look_at_first.run();
  scales.update(look_at_first);
  syclamp::cast_options options = scales.quantize();
  options.saturated = counter.data();
  syclamp::cast(first, small, options);
  const std::uint64_t beyond = counter.to_vector()[0];
  std::cout << "as FP8 with the scale " << scales.scales()[0] << ": " << beyond << " of " << sizes[0]
            << " are outside the range\n";

  const bool as_expected = clipped[0].coefficient < 1.0f && tensors[2].zero_count == 450'000 && beyond == 0;
  return as_expected ? 0 : 1;
} catch (const syclamp::error& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
