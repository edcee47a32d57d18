! SPDX-License-Identifier: Apache-2.0
! The loss scaler and its ledger.
module syclamp_scalers
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: real32, int64
  use syclamp_types
  use syclamp_device_calls
  use syclamp_training_calls
  use syclamp_objects
  use syclamp_devices
  use syclamp_tensors
  use syclamp_optimizers
  implicit none
  private
  public :: loss_scaler, consensus_sum

  ! A function of yours that replaces `count` real32 numbers in device memory by their sums over all ranks. It returns 0, or
  ! any other number to report a failure. Its address goes to scaler_options%consensus_sum.
  abstract interface
    integer(c_int32_t) function consensus_sum(user, device_numbers, count) bind(c)
      import
      type(c_ptr), value :: user, device_numbers
      integer(c_size_t), value :: count
    end function
  end interface

  type, extends(object) :: loss_scaler
  contains
    procedure :: create => create_scaler
    procedure :: begin_step
    procedure :: scale
    procedure, private :: unscale_gradients, unscale_list
    generic :: unscale => unscale_gradients, unscale_list
    procedure :: inspect
    procedure :: step
    procedure :: step_jointly
    procedure :: step_accumulated
    procedure :: accumulate => accumulate_gradients
    procedure :: update
    procedure :: prepare
    procedure :: resume
    procedure :: get_scale
    procedure :: outcome
    procedure :: records
    procedure :: ledger_text
    procedure :: get_policy
    procedure :: set_policy
    procedure :: get_state
    procedure :: set_state
  end type

contains

  ! Makes a scaler. To let ranks decide together, pass scaler_options with the address of a `consensus_sum`.
  subroutine create_scaler(self, owner, policy, options, stat, errmsg)
    class(loss_scaler), intent(inout) :: self
    type(engine), intent(in) :: owner
    type(scaling_policy), intent(in), optional :: policy
    type(scaler_options), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(scaling_policy), target :: chosen
    type(scaler_options) :: given
    integer(c_int32_t) :: status
    type(c_ptr) :: made, policy_address
    if (present(options)) given = options
    given%struct_size = c_sizeof(given)
    policy_address = c_null_ptr
    if (present(policy)) then
      chosen = policy
      policy_address = c_loc(chosen)
    end if
    made = c_null_ptr
    status = syclamp_scaler_create(owner%handle(), policy_address, given, made)
    call finish_creation(self, made, status, stat, errmsg)
  end subroutine

  ! Begins a step. device_scale: the address of the scale in device memory.
  subroutine begin_step(self, device_scale, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    type(c_ptr), intent(out), optional :: device_scale
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: address
    address = c_null_ptr
    status = syclamp_scaler_begin_step(self%handle(), address)
    if (present(device_scale)) device_scale = address
    call finish(status, stat, errmsg)
  end subroutine

  ! Begins a step and multiplies a loss by the scale, in place.
  subroutine scale(self, loss, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    class(tensor_list), intent(in) :: loss
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_scaler_scale(self%handle(), loss%handle(), c_null_ptr), stat, errmsg)
  end subroutine

  type(step_options) function clip_options(max_norm) result(options)
    real(real32), intent(in), optional :: max_norm
    options%struct_size = c_sizeof(options)
    if (present(max_norm)) then
      options%max_norm = max_norm
      options%clip = 1
    end if
  end function

  ! Unscales the gradients of an optimizer before its step. gradients: the result, for clipping by hand.
  subroutine unscale_gradients(self, target, gradients, max_norm, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    class(optimizer), intent(in) :: target
    type(unscaled_gradients), intent(inout), optional :: gradients
    real(real32), intent(in), optional :: max_norm
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr), target :: made
    type(c_ptr) :: wanted
    made = c_null_ptr
    wanted = c_null_ptr
    if (present(gradients)) wanted = c_loc(made)
    status = syclamp_scaler_unscale(self%handle(), target%handle(), clip_options(max_norm), wanted)
    if (status == syclamp_ok .and. present(gradients)) call gradients%own(made)
    call finish(status, stat, errmsg)
  end subroutine

  ! Unscales gradients of no optimizer. to: FP32 tensors of the same sizes; default: FP32 gradients are unscaled in place.
  subroutine unscale_list(self, list, to, gradients, max_norm, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    class(tensor_list), intent(in) :: list
    class(tensor_list), intent(in), optional :: to
    type(unscaled_gradients), intent(inout), optional :: gradients
    real(real32), intent(in), optional :: max_norm
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr), target :: made
    type(c_ptr) :: wanted, out
    made = c_null_ptr
    wanted = c_null_ptr
    out = c_null_ptr
    if (present(gradients)) wanted = c_loc(made)
    if (present(to)) out = to%handle()
    status = syclamp_scaler_unscale_list(self%handle(), list%handle(), out, clip_options(max_norm), wanted)
    if (status == syclamp_ok .and. present(gradients)) call gradients%own(made)
    call finish(status, stat, errmsg)
  end subroutine

  ! Inspects gradients for an optimizer of yours, and reads the decision on the step for a group (default 0). Waits.
  subroutine inspect(self, gradients, decision, max_norm, group, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    class(tensor_list), intent(in) :: gradients
    type(step_decision), target, intent(out) :: decision
    real(real32), intent(in), optional :: max_norm
    integer(c_int32_t), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(step_decision), pointer :: decisions(:)
    type(engine) :: owner
    type(c_ptr) :: start, made
    integer(c_int32_t) :: status, chosen
    real(real32) :: unused
    chosen = 0
    if (present(group)) chosen = group
    made = c_null_ptr
    start = c_null_ptr
    status = syclamp_scaler_get_scale(self%handle(), chosen, unused)  ! is there such a group?
    if (status == syclamp_ok) status = syclamp_handle_engine(self%handle(), made)
    if (status == syclamp_ok) call owner%own(made)
    if (status == syclamp_ok) status = syclamp_scaler_inspect(self%handle(), gradients%handle(), clip_options(max_norm), start)
    if (status == syclamp_ok) then
      call c_f_pointer(start, decisions, [chosen + 1])
      status = syclamp_memory_copy_out(owner%handle(), c_loc(decision), c_loc(decisions(chosen + 1)), c_sizeof(decision))
    end if
    call finish(status, stat, errmsg)
  end subroutine

  ! Unscales, clips and applies the gradients, or skips the step as a whole.
  subroutine step(self, target, max_norm, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    class(optimizer), intent(in) :: target
    real(real32), intent(in), optional :: max_norm
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_scaler_step(self%handle(), target%handle(), clip_options(max_norm)), stat, errmsg)
  end subroutine

  ! All optimizers apply their gradients, or none does.
  subroutine step_jointly(self, targets, max_norm, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    type(optimizer), intent(in) :: targets(:)
    real(real32), intent(in), optional :: max_norm
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_scaler_step_jointly(self%handle(), handles_of(targets), size(targets, kind=c_size_t), &
      clip_options(max_norm)), stat, errmsg)
  end subroutine

  ! Applies the mean of accumulated gradients.
  subroutine step_accumulated(self, target, max_norm, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    class(optimizer), intent(in) :: target
    real(real32), intent(in), optional :: max_norm
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_scaler_step_accumulated(self%handle(), target%handle(), clip_options(max_norm)), stat, errmsg)
  end subroutine

  ! Adds unscaled gradients of a micro-batch to FP32 sums.
  subroutine accumulate_gradients(self, gradients, sum, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    class(tensor_list), intent(in) :: gradients, sum
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_scaler_accumulate(self%handle(), gradients%handle(), sum%handle()), stat, errmsg)
  end subroutine

  ! Ends the step: moves the scale, or sets it to new_scale.
  subroutine update(self, new_scale, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    real(real32), intent(in), optional :: new_scale
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (present(new_scale)) then
      call finish(syclamp_scaler_update_to(self%handle(), new_scale), stat, errmsg)
    else
      call finish(syclamp_scaler_update(self%handle()), stat, errmsg)
    end if
  end subroutine

  ! Allocates the memory for a list of gradients. A recorded step needs it, because it cannot allocate.
  subroutine prepare(self, gradients, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    class(tensor_list), intent(in) :: gradients
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_scaler_prepare(self%handle(), gradients%handle()), stat, errmsg)
  end subroutine

  ! Resumes after the policy has stopped.
  subroutine resume(self, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_scaler_resume(self%handle()), stat, errmsg)
  end subroutine

  ! The present scale of a group (default 0). Waits.
  real(real32) function get_scale(self, group, stat, errmsg) result(present_scale)
    class(loss_scaler), intent(in) :: self
    integer(c_int32_t), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    present_scale = 0
    call finish(syclamp_scaler_get_scale(self%handle(), group_or(0, group), present_scale), stat, errmsg)
  end function

  ! The record of the last update. group: with several scales, the group of the scale (default 0). Waits.
  subroutine outcome(self, record, group, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    type(step_record), intent(out) :: record
    integer(c_int32_t), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    record%struct_size = c_sizeof(record)
    call finish(syclamp_scaler_outcome(self%handle(), group_or(0, group), record), stat, errmsg)
  end subroutine

  ! The records of the ledger, oldest first. With several scales, one record per step and scale. Does not wait.
  subroutine records(self, ledger, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    type(step_record), allocatable, target, intent(out) :: ledger(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(step_record), allocatable, target :: found(:)
    integer(c_size_t) :: count
    integer(c_int32_t) :: status
    count = 0
    status = syclamp_scaler_records(self%handle(), c_null_ptr, 0_c_size_t, count)
    allocate (found(count))
    if (status == syclamp_ok .and. count > 0) then
      found(1)%struct_size = c_sizeof(found(1))
      status = syclamp_scaler_records(self%handle(), c_loc(found), count, count)
    end if
    ledger = found(:count)
    call finish(status, stat, errmsg)
  end subroutine

  ! The ledger as text. format: ledger_csv (default) or ledger_json_lines.
  subroutine ledger_text(self, text, format, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    character(:), allocatable, intent(out) :: text
    integer(c_int32_t), intent(in), optional :: format
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: chosen, status
    type(c_ptr) :: made
    chosen = ledger_csv
    if (present(format)) chosen = format
    made = c_null_ptr
    status = syclamp_scaler_ledger_text(self%handle(), chosen, made)
    text = take_text(made)
    call finish(status, stat, errmsg)
  end subroutine

  ! The present policy. After an error its struct_size is 0, so no call accepts it.
  type(scaling_policy) function get_policy(self, stat, errmsg) result(policy)
    class(loss_scaler), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    policy%struct_size = c_sizeof(policy)
    status = syclamp_scaler_get_policy(self%handle(), policy)
    if (status /= syclamp_ok) policy = scaling_policy()
    call finish(status, stat, errmsg)
  end function

  ! Changes the policy from the next update on.
  subroutine set_policy(self, policy, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    type(scaling_policy), intent(in) :: policy
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(scaling_policy) :: given
    given = policy
    call finish(syclamp_scaler_set_policy(self%handle(), given), stat, errmsg)
  end subroutine

  ! The complete state as JSON. Waits.
  subroutine get_state(self, json, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    character(:), allocatable, intent(out) :: json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: made
    made = c_null_ptr
    status = syclamp_scaler_get_state(self%handle(), made)
    json = take_text(made)
    call finish(status, stat, errmsg)
  end subroutine

  ! Loads a state. Waits.
  subroutine set_state(self, json, stat, errmsg)
    class(loss_scaler), intent(in) :: self
    character(*), intent(in) :: json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: text(:)
    text = to_c(json)
    call finish(syclamp_scaler_set_state(self%handle(), c_loc(text)), stat, errmsg)
  end subroutine
end module
