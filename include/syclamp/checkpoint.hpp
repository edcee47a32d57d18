// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checkpoints: optimizers and their scaler in one file, from which training resumes bit-identically.
///
///     save_checkpoint("run.ckpt", {.optimizers = {&optimizer}, .scaler = &scaler}, "epoch 7");
///
/// Later, with a new optimizer and a new scaler, on any device:
///
///     const std::string notes = load_checkpoint("run.ckpt", {.optimizers = {&optimizer}, .scaler = &scaler});
///
/// A file holds:
///   - for each optimizer: FP32 weights, moments, the number of applied steps, all hyper-parameters, the schedule and
///     the seed of stochastic rounding
///   - for the scaler: its complete state (`scaler_snapshot`)
///   - your notes, for example the position of the training loop, its data and its random numbers
///
/// It does not hold addresses (`set_lr_source`), gradients, or sums of an accumulation window.
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

/// The objects that are saved and loaded together. The caller owns them.
struct checkpoint_parts {
  std::vector<fused_optimizer*> optimizers;  ///< in the same order for saving and loading; none is null
  loss_scaler* scaler = nullptr;             ///< null: no scaler
};

/// Largest size of the notes of a checkpoint, in bytes.
inline constexpr std::size_t max_notes_bytes = std::size_t{1} << 20;

/// Saves a checkpoint. Waits.
///
/// Call it between two steps and not while micro-batches are accumulated. The scaler checks this, except for steps that
/// a `recorded_step` replays.
///
/// The file is replaced atomically: even if the process is killed or the power fails, either the complete old file or
/// the complete new file exists. It is written in blocks of a few MiB, so the host needs little memory.
///
/// A process that is killed while it saves leaves a file `.syclamp-….new`. The next process that saves to the same
/// folder removes it.
/// \param file   path of the checkpoint
/// \param parts  the optimizers and the scaler
/// \param notes  any bytes, at most `max_notes_bytes`
/// \throws misuse_error between `scale` and `update`
/// \throws invalid_argument if an optimizer is null or listed twice, or the notes are too long
/// \throws file_error that names the file and the reason; the old file is then unchanged
SYCLAMP_API void save_checkpoint(const std::filesystem::path& file, const checkpoint_parts& parts,
                                 std::string_view notes = {});

/// Loads a checkpoint, so that training resumes where it was saved. Waits.
///
/// The parts must match those that were saved: the same number of optimizers, of the same kinds, with the same number
/// of groups and of parameters in each group, and a scaler if there was one. The following may differ:
///   - the device and its profile
///   - how a group is divided into tensors: its parameters are taken in order, as if they were one tensor. NovoGrad has
///     moments per tensor, so its tensors must have the same sizes. LAMB then uses the norms of the new tensors, and
///     stochastic rounding other random bits.
///   - how weights are stored: FP32 model, copies in any type, remainders
///   - the type of moments: BF16 moments can be loaded as FP32, but not the other way round, which would round them
///
/// Afterwards the settings are those of the file, including the learning rate. Sources of learning rates do not change.
/// Copies of the weights are restored exactly.
///
/// Checksums, versions, sizes and the match of the parts are checked before anything is changed.
/// \param file   path of the checkpoint
/// \param parts  the optimizers and the scaler, which receive the saved state
/// \return the notes
/// \throws file_error that names the file and the problem, or the difference between the parts. The parts are then
///         unchanged, unless the message says otherwise: the disk or the device may fail after the checks.
SYCLAMP_API std::string load_checkpoint(const std::filesystem::path& file, const checkpoint_parts& parts);

}  // namespace SYCLAMP_NAMESPACE
