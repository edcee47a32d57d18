// SPDX-License-Identifier: Apache-2.0
/// \file
/// Optimizers and their scaler in one file, from which training goes on bit by bit.
///
///     save_checkpoint("run.ckpt", {.optimizers = {&optimizer}, .scaler = &scaler}, "epoch 7");
///
/// and later, with an optimizer and a scaler that were just made, on whatever device:
///
///     const std::string notes = load_checkpoint("run.ckpt", {.optimizers = {&optimizer}, .scaler = &scaler});
///
/// A file holds, of each optimizer: FP32 weights, moments, the number of applied steps, all hyper-parameters and the
/// schedule, the seed of stochastic rounding; of the scaler: everything (`scaler_snapshot`); and your notes: where the
/// training loop, its data and its random numbers are. It does not hold addresses (`set_lr_source`), gradients, or
/// sums of an accumulation window.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <syclamp/export.hpp>
#include <syclamp/fused_optimizer.hpp>
#include <syclamp/loss_scaler.hpp>

namespace SYCLAMP_NAMESPACE {

/// What is saved and loaded together, in this order.
struct checkpoint_parts {
  std::vector<fused_optimizer*> optimizers;
  loss_scaler* scaler = nullptr;  ///< null: there is none
};

inline constexpr std::size_t max_notes_bytes = std::size_t{1} << 20;  ///< in bytes

/// Saves between two steps, and not while micro-batches are accumulated (of steps that a `recorded_step` replays, the
/// scaler cannot know where they are). At any moment, also if the process is killed or the machine loses power, the old
/// or the new file is there, whole. It is written in blocks of some MiB, so the host needs no room for the model.
/// Waits.
///
/// A process that is killed while it saves leaves a file `.syclamp-….new`; the next one that saves to the same folder
/// removes it.
/// \param notes  any bytes
/// \throws misuse_error between `scale` and `update`; invalid_argument if an optimizer is null or given twice, or the
///         notes are too long; error that names the file and the reason. The old file is as it was then.
SYCLAMP_API void save_checkpoint(const std::filesystem::path& file, const checkpoint_parts& parts,
                                 std::string_view notes = {});

/// Goes on where a checkpoint was saved. The parts are made as those that were saved: as many optimizers, of the same
/// kinds, with as many groups and as many parameters in each, and a scaler if there was one. These may differ:
///   - the device and its profile
///   - how a group is cut into tensors: its parameters count in order, as if they were one tensor. NovoGrad has a
///     moment a tensor, so with it they are cut in the same way. LAMB goes on, but with the norms of the new tensors;
///     stochastic rounding with other random bits.
///   - how weights are stored: FP32 model, copies in any type, remainders
///   - moments: those in BF16 can go on in FP32, but not the other way round, which would round them
/// Settings are those of the file afterwards, the learning rate included; sources of learning rates are as they were.
/// Copies of the weights are made again, as they were. Waits.
///
/// Everything is checked before anything is changed: checksums, versions, sizes, and that the parts fit.
/// \return the notes
/// \throws error that names the file and says what is wrong with it, or in what the parts differ. They are as they were
///         then, unless it says otherwise: if the disk, the device or its memory fails after the checks.
SYCLAMP_API std::string load_checkpoint(const std::filesystem::path& file, const checkpoint_parts& parts);

}  // namespace SYCLAMP_NAMESPACE
