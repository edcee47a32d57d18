! SPDX-License-Identifier: Apache-2.0
! Checkpoints, the state of a scaler in files and in the formats of other frameworks, and replayed ledgers.
module syclamp_scaler_states
  use, intrinsic :: iso_c_binding
  use syclamp_types
  use syclamp_training_calls
  use syclamp_objects
  use syclamp_optimizers
  use syclamp_scalers
  implicit none
  private
  public :: save_checkpoint, load_checkpoint, save_state, load_state, get_framework_state, set_framework_state, replay_ledger

contains

  ! Saves optimizers and a scaler to one file, with a line of notes. Waits.
  subroutine save_checkpoint(file, optimizers, scaler, notes, stat, errmsg)
    character(*), intent(in) :: file
    type(optimizer), intent(in) :: optimizers(:)
    type(loss_scaler), intent(in) :: scaler
    character(*), intent(in), optional :: notes
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: path(:), text(:)
    path = to_c(file)
    text = to_c("")
    if (present(notes)) text = to_c(notes)
    call finish(syclamp_checkpoint_save(c_loc(path), handles_of(optimizers), size(optimizers, kind=c_size_t), &
      scaler%handle(), c_loc(text), size(text, kind=c_size_t) - 1), stat, errmsg)
  end subroutine

  ! Loads a checkpoint into optimizers and a scaler that match. Waits.
  subroutine load_checkpoint(file, optimizers, scaler, notes, stat, errmsg)
    character(*), intent(in) :: file
    type(optimizer), intent(in) :: optimizers(:)
    type(loss_scaler), intent(in) :: scaler
    character(:), allocatable, intent(out), optional :: notes
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: path(:)
    integer(c_int32_t) :: status
    integer(c_size_t) :: bytes
    type(c_ptr) :: text
    character(:), allocatable :: found
    path = to_c(file)
    text = c_null_ptr
    bytes = 0
    status = syclamp_checkpoint_load(c_loc(path), handles_of(optimizers), size(optimizers, kind=c_size_t), &
      scaler%handle(), text, bytes)
    found = take_text(text)
    if (present(notes)) notes = found
    call finish(status, stat, errmsg)
  end subroutine

  ! Saves the complete state of a scaler as a JSON file, which is replaced atomically. Waits.
  subroutine save_state(scaler, file, stat, errmsg)
    class(loss_scaler), intent(in) :: scaler
    character(*), intent(in) :: file
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: path(:)
    path = to_c(file)
    call finish(syclamp_scaler_save_state(scaler%handle(), c_loc(path)), stat, errmsg)
  end subroutine

  ! Loads a file of `save_state`. After an error the scaler is unchanged. Waits.
  subroutine load_state(scaler, file, stat, errmsg)
    class(loss_scaler), intent(in) :: scaler
    character(*), intent(in) :: file
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: path(:)
    path = to_c(file)
    call finish(syclamp_scaler_load_state(scaler%handle(), c_loc(path)), stat, errmsg)
  end subroutine

  ! The state as another framework saves it, as JSON. framework: pytorch, keras3, keras2, apex, deepspeed or megatron.
  subroutine get_framework_state(scaler, framework, json, stat, errmsg)
    class(loss_scaler), intent(in) :: scaler
    character(*), intent(in) :: framework
    character(:), allocatable, intent(out) :: json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: name(:)
    integer(c_int32_t) :: status
    type(c_ptr) :: made
    name = to_c(framework)
    made = c_null_ptr
    status = syclamp_scaler_get_framework_state(scaler%handle(), c_loc(name), made)
    json = take_text(made)
    call finish(status, stat, errmsg)
  end subroutine

  ! Loads the saved state of another framework. After an error the scaler is unchanged. Waits.
  subroutine set_framework_state(scaler, framework, json, stat, errmsg)
    class(loss_scaler), intent(in) :: scaler
    character(*), intent(in) :: framework, json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: name(:), text(:)
    name = to_c(framework)
    text = to_c(json)
    call finish(syclamp_scaler_set_framework_state(scaler%handle(), c_loc(name), c_loc(text)), stat, errmsg)
  end subroutine

  ! Applies a policy to the ledger of a run, as `ledger_text` writes it.
  subroutine replay_ledger(text, policy, report, stat, errmsg)
    character(*), intent(in) :: text
    type(scaling_policy), intent(in) :: policy
    type(replay_report), intent(out) :: report
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: ledger(:)
    ledger = to_c(text)
    report%struct_size = c_sizeof(report)
    call finish(syclamp_ledger_replay(c_loc(ledger), policy, report, c_null_ptr, 0_c_size_t), stat, errmsg)
  end subroutine
end module
