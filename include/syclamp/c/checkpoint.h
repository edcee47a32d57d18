// SPDX-License-Identifier: Apache-2.0
/// \file
/// C interface: checkpoints, from which training resumes bit-identically.
#ifndef SYCLAMP_C_CHECKPOINT_H
#define SYCLAMP_C_CHECKPOINT_H

#include <syclamp/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Saves optimizers and a scaler to one file, which is replaced atomically. Waits. Call it between two steps.
/// \param file         path of the file
/// \param optimizers   the optimizers; may be null if `count` is 0
/// \param count        number of optimizers
/// \param scaler       may be null
/// \param notes        any bytes of yours, such as the position of the training loop; may be null
/// \param notes_bytes  size of the notes, at most 1 MiB
SYCLAMP_C_API syclamp_status syclamp_checkpoint_save(const char* file, const syclamp_optimizer* optimizers,
                                                     size_t count, syclamp_scaler scaler, const void* notes,
                                                     size_t notes_bytes);

/// Loads a checkpoint into optimizers and a scaler that match those which were saved. Waits. Everything is checked
/// before anything is changed.
/// \param file         path of the file
/// \param optimizers   the optimizers, in the order of saving
/// \param count        number of optimizers
/// \param scaler       null if none was saved
/// \param notes        receives the notes, followed by a 0; free the text; may be null
/// \param notes_bytes  receives the size of the notes; may be null
SYCLAMP_C_API syclamp_status syclamp_checkpoint_load(const char* file, const syclamp_optimizer* optimizers,
                                                     size_t count, syclamp_scaler scaler, char** notes,
                                                     size_t* notes_bytes);

#ifdef __cplusplus
}
#endif
#endif
