! SPDX-License-Identifier: Apache-2.0
! Texts that describe a scaler: its state in files and in the formats of other frameworks, and replayed ledgers.
module syclamp_scaler_states
  use, intrinsic :: iso_c_binding
  use syclamp_types
  use syclamp_training_calls
  use syclamp_objects
  use syclamp_scalers
  implicit none
  private
  public :: save_state, load_state, get_framework_state, set_framework_state, replay_ledger

contains

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
