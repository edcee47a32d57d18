// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/optimizers.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace reference {
namespace {

constexpr double pi = 3.14159265358979323846;

/// A number with the size of the terms that it was added up from.
struct sum {
  double value, size;
};

sum plus(sum a, sum b) { return {a.value + b.value, a.size + b.size}; }
sum times(double factor, sum a) { return {factor * a.value, std::abs(factor) * a.size}; }
sum exact(double value) { return {value, std::abs(value)}; }
sum square(sum a) { return {a.value * a.value, a.size * a.size}; }

/// a / (sqrt(b) + eps). The root halves the relative error of b.
sum over_root(sum a, sum b, double root_factor, double eps) {
  const double denominator = std::sqrt(std::max(b.value, 0.0)) * root_factor + eps;
  const double amplified = b.value > 0 ? b.size / b.value : 1.0;
  return {a.value / denominator, (a.size + std::abs(a.value) * amplified) / denominator};
}

stepped result(const element& now, sum weight) {
  stepped done;
  done.next = now;
  done.next.weight = weight.value;
  done.weight_size = weight.size;
  return done;
}

void put(stepped& done, std::size_t index, sum state) {
  done.next.state[index] = state.value;
  done.state_size[index] = state.size;
}

/// state: momentum_buffer
stepped sgd(const optimizer_settings& by, std::uint64_t t, sum g, const element& now) {
  if (by.momentum == 0) return result(now, plus(exact(now.weight), times(-by.lr, g)));
  const sum buffer = t == 1 ? g : plus(exact(by.momentum * now.state[0]), times(1 - by.dampening, g));
  const sum direction = by.nesterov ? plus(g, times(by.momentum, buffer)) : buffer;
  stepped done = result(now, plus(exact(now.weight), times(-by.lr, direction)));
  put(done, 0, buffer);
  return done;
}

/// state: exp_avg, exp_avg_sq, max_exp_avg_sq
stepped adam(const optimizer_settings& by, std::uint64_t t, sum g, const element& now) {
  const double steps = static_cast<double>(t);
  const double bias1 = 1 - std::pow(by.beta1, steps), bias2 = 1 - std::pow(by.beta2, steps);
  const sum m = plus(exact(by.beta1 * now.state[0]), times(1 - by.beta1, g));
  const sum v = plus(exact(by.beta2 * now.state[1]), times(1 - by.beta2, square(g)));
  const sum largest = by.amsgrad && now.state[2] > v.value ? exact(now.state[2]) : v;
  const double decay = by.optimizer == "adamw" ? by.lr * by.weight_decay : 0.0;
  const sum kept = plus(exact(now.weight), exact(-decay * now.weight));
  stepped done = result(now, plus(kept, times(-by.lr / bias1, over_root(m, largest, 1 / std::sqrt(bias2), by.eps))));
  put(done, 0, m);
  put(done, 1, v);
  if (by.amsgrad) put(done, 2, largest);
  return done;
}

/// state: exp_avg
stepped lion(const optimizer_settings& by, std::uint64_t, sum g, const element& now) {
  const sum c = plus(exact(by.beta1 * now.state[0]), times(1 - by.beta1, g));
  const double sign = c.value > 0 ? 1 : c.value < 0 ? -1 : 0;
  const sum kept = plus(exact(now.weight), exact(-by.lr * by.weight_decay * now.weight));
  stepped done = result(now, plus(kept, exact(-by.lr * sign)));
  put(done, 0, plus(exact(by.beta2 * now.state[0]), times(1 - by.beta2, g)));
  done.is_undecided = c.size != 0 && std::abs(c.value) < 0x1p-20 * c.size;
  return done;
}

/// state: sum
stepped adagrad(const optimizer_settings& by, std::uint64_t t, sum g, const element& now) {
  const double lr = by.lr / (1 + static_cast<double>(t - 1) * by.lr_decay);
  const sum squares = plus(exact(now.state[0]), square(g));
  stepped done = result(now, plus(exact(now.weight), times(-lr, over_root(g, squares, 1, by.eps))));
  put(done, 0, squares);
  return done;
}

/// state: square_avg, then momentum_buffer and grad_avg as far as there are
stepped rmsprop(const optimizer_settings& by, std::uint64_t, sum g, const element& now) {
  const std::size_t buffer_at = 1, mean_at = by.momentum > 0 ? 2 : 1;
  const sum squares = plus(exact(by.alpha * now.state[0]), times(1 - by.alpha, square(g)));
  const sum mean = plus(exact(by.alpha * now.state[mean_at]), times(1 - by.alpha, g));
  const sum variance = by.centered ? plus(squares, times(-1, square(mean))) : squares;
  const sum direction = over_root(g, variance, 1, by.eps);
  const sum buffer = plus(exact(by.momentum * now.state[buffer_at]), direction);
  const sum taken = by.momentum > 0 ? buffer : direction;
  stepped done = result(now, plus(exact(now.weight), times(-by.lr, taken)));
  put(done, 0, squares);
  if (by.momentum > 0) put(done, buffer_at, buffer);
  if (by.centered) put(done, mean_at, mean);
  return done;
}

/// state: square_avg, acc_delta. The paper's step is -RMS[Δ] / RMS[g] · g, where RMS[x] is sqrt(E[x²] + eps), and E[Δ²]
/// is that of the steps before; the learning rate comes last. Roundings of FP32 (`rounding_error`): a gradient 3 u, a
/// second moment 8 u after eps, sum and root, the other 2 u, a quotient and a product: 15 u; its square 35 u, of a size
/// that is counted four times here.
stepped adadelta(const optimizer_settings& by, std::uint64_t, sum g, const element& now) {
  const sum squares = plus(exact(by.rho * now.state[0]), times(1 - by.rho, square(g)));
  const double ratio = std::sqrt(now.state[1] + by.eps) / std::sqrt(squares.value + by.eps);
  const double amplified = (squares.size + by.eps) / (squares.value + by.eps);
  const sum delta = {ratio * g.value, ratio * (g.size + std::abs(g.value) * amplified)};
  stepped done = result(now, plus(exact(now.weight), times(-by.lr, delta)));
  put(done, 0, squares);
  put(done, 1, plus(exact(by.rho * now.state[1]), times(1 - by.rho, square(delta))));
  return done;
}

/// Terms of a norm are added up in blocks of at most 64, at most 64 blocks, 16 lanes and a few pieces, each time with
/// half a unit of error, which the root halves: about 80 half units for a norm, 160 for a ratio of two. A result that
/// is right to 32 half units of its size otherwise is right to so many times that.
constexpr double norms = 6;

/// state: exp_avg, exp_avg_sq
std::vector<stepped> lamb(const optimizer_settings& by, std::uint64_t t, const std::vector<double>& g,
                          const std::vector<element>& now, double&) {
  const double steps = static_cast<double>(t);
  const double bias1 = 1 - std::pow(by.beta1, steps), bias2 = 1 - std::pow(by.beta2, steps);
  std::vector<sum> updates;
  std::vector<stepped> all(now.size());
  double weights = 0, squares = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const sum gradient = exact(by.maximize ? -g[i] : g[i]);
    const sum m = plus(exact(by.beta1 * now[i].state[0]), times(1 - by.beta1, gradient));
    const sum v = plus(exact(by.beta2 * now[i].state[1]), times(1 - by.beta2, square(gradient)));
    const sum direction = times(1 / bias1, over_root(m, v, 1 / std::sqrt(bias2), by.eps));
    updates.push_back(plus(direction, exact(by.weight_decay * now[i].weight)));
    weights += now[i].weight * now[i].weight;
    squares += updates[i].value * updates[i].value;
    put(all[i], 0, m);
    put(all[i], 1, v);
  }
  const double trust = weights > 0 && squares > 0 ? std::sqrt(weights / squares) : 1.0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const sum weight = plus(exact(now[i].weight), times(-by.lr * trust, updates[i]));
    all[i].next.weight = weight.value;
    all[i].weight_size = std::abs(now[i].weight) + norms * by.lr * trust * updates[i].size;
  }
  return all;
}

/// state: exp_avg
std::vector<stepped> novograd(const optimizer_settings& by, std::uint64_t t, const std::vector<double>& g,
                              const std::vector<element>& now, double& second) {
  double squares = 0;
  for (const double one : g) squares += one * one;
  second = t == 1 ? squares : by.beta2 * second + (1 - by.beta2) * squares;
  std::vector<stepped> all;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const double gradient = by.maximize ? -g[i] : g[i];
    const sum direction = plus(exact(gradient / (std::sqrt(second) + by.eps)), exact(by.weight_decay * now[i].weight));
    const sum m = plus(exact(by.beta1 * now[i].state[0]), times(norms, direction));
    stepped done = result(now[i], exact(0));
    put(done, 0, {by.beta1 * now[i].state[0] + direction.value, m.size});
    done.next.weight = now[i].weight - by.lr * done.next.state[0];
    done.weight_size = std::abs(now[i].weight) + by.lr * m.size;
    all.push_back(done);
  }
  return all;
}

struct element_wise {
  std::string_view name;
  stepped (*step)(const optimizer_settings& by, std::uint64_t t, sum g, const element& now);
  bool decays_gradient;  ///< g includes weight_decay · w
};
constexpr element_wise element_wise_definitions[] = {
    {"sgd", sgd, true},         {"adam", adam, true},       {"adamw", adam, false},       {"lion", lion, false},
    {"adagrad", adagrad, true}, {"rmsprop", rmsprop, true}, {"adadelta", adadelta, true},
};

struct tensor_wise {
  std::string_view name;
  std::vector<stepped> (*step)(const optimizer_settings& by, std::uint64_t t, const std::vector<double>& g,
                               const std::vector<element>& now, double& second);
};
constexpr tensor_wise tensor_wise_definitions[] = {{"lamb", lamb}, {"novograd", novograd}};

template <typename Table>
const auto& find(const Table& table, std::string_view name) {
  const auto found = std::ranges::find_if(table, [&](const auto& row) { return row.name == name; });
  if (found == std::end(table)) throw std::out_of_range("the oracle knows no optimizer " + std::string(name));
  return *found;
}

double warmed_up(std::uint64_t applied, std::uint64_t warm_up) {
  return static_cast<double>(applied + 1) / static_cast<double>(warm_up);
}

}  // namespace

stepped step(const optimizer_settings& by, std::uint64_t t, double g, const element& now) {
  const element_wise& definition = find(element_wise_definitions, by.optimizer);
  const sum climbed = exact(by.maximize ? -g : g);
  const sum decay = exact(by.weight_decay * now.weight);
  return definition.step(by, t, definition.decays_gradient ? plus(climbed, decay) : climbed, now);
}

std::vector<stepped> step_of_tensor(const optimizer_settings& by, std::uint64_t t, const std::vector<double>& g,
                                    const std::vector<element>& now, double& second) {
  return find(tensor_wise_definitions, by.optimizer).step(by, t, g, now, second);
}

double cosine_factor(std::uint64_t applied, std::uint64_t warm_up, std::uint64_t steps, double lowest) {
  if (applied < warm_up) return warmed_up(applied, warm_up);
  const double part = std::min(1.0, static_cast<double>(applied - warm_up) / static_cast<double>(steps));
  return lowest + (1 - lowest) * 0.5 * (1 + std::cos(pi * part));
}

double decay_factor(std::uint64_t applied, std::uint64_t warm_up, std::uint64_t steps, double gamma) {
  if (applied < warm_up) return warmed_up(applied, warm_up);
  const std::uint64_t decays = (applied - warm_up) / steps;
  return std::pow(gamma, static_cast<double>(decays));
}

}  // namespace reference
