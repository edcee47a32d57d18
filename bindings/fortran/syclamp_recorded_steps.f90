! SPDX-License-Identifier: Apache-2.0
! Steps that are recorded once and submitted as a whole, and guards that skip steps whose loss jumps.
module syclamp_recorded_steps
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: real32
  use syclamp_types
  use syclamp_training_calls
  use syclamp_objects
  use syclamp_devices
  use syclamp_scalers
  implicit none
  private
  public :: recorded_step, spike_guard, step_calls

  ! A function of yours that submits one step. It returns 0, or any other number to report a failure.
  abstract interface
    integer(c_int32_t) function step_calls(user) bind(c)
      import
      type(c_ptr), value :: user
    end function
  end interface

  type, extends(object) :: recorded_step
  contains
    procedure :: create => create_recorded
    procedure :: run
    procedure :: is_recorded
  end type

  type, extends(object) :: spike_guard
  contains
    procedure :: create => create_guard
    procedure :: check
  end type

contains

  ! Records the calls of a step. Nothing runs then. user: passed to `calls`, for example c_loc of a derived type; what it
  ! refers to must exist as long as the recorded step. mode: record_if_possible (default) or record_never.
  subroutine create_recorded(self, owner, calls, user, mode, stat, errmsg)
    class(recorded_step), intent(inout) :: self
    type(engine), intent(in) :: owner
    procedure(step_calls) :: calls
    type(c_ptr), intent(in), optional :: user
    integer(c_int32_t), intent(in), optional :: mode
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: chosen, status
    type(c_ptr) :: argument, made
    argument = c_null_ptr
    if (present(user)) argument = user
    chosen = record_if_possible
    if (present(mode)) chosen = mode
    made = c_null_ptr
    status = syclamp_recorded_step_create(owner%handle(), c_funloc(calls), argument, chosen, made)
    call finish_creation(self, made, status, stat, errmsg)
  end subroutine

  ! Submits the step. Does not wait.
  subroutine run(self, stat, errmsg)
    class(recorded_step), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_recorded_step_run(self%handle()), stat, errmsg)
  end subroutine

  ! True if there is a graph; false if each run makes the calls.
  logical function is_recorded(self, stat, errmsg)
    class(recorded_step), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: recorded
    recorded = 0
    call finish(syclamp_recorded_step_is_recorded(self%handle(), recorded), stat, errmsg)
    is_recorded = recorded /= 0
  end function

  ! Makes a guard. threshold: in standard deviations, default 6. window: length of the mean in steps, default 128.
  subroutine create_guard(self, owner, threshold, window, stat, errmsg)
    class(spike_guard), intent(inout) :: self
    type(engine), intent(in) :: owner
    real(real32), intent(in), optional :: threshold
    integer(c_int32_t), intent(in), optional :: window
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(spike_guard_options) :: options
    integer(c_int32_t) :: status
    type(c_ptr) :: made
    options%struct_size = c_sizeof(options)
    if (present(threshold)) options%threshold = threshold
    if (present(window)) options%window = window
    made = c_null_ptr
    status = syclamp_spike_guard_create(owner%handle(), options, made)
    call finish_creation(self, made, status, stat, errmsg)
  end subroutine

  ! Checks a number in device memory, for example the loss. After a spike, the scaler skips its next step.
  subroutine check(self, device_value, scaler, stat, errmsg)
    class(spike_guard), intent(in) :: self
    type(c_ptr), intent(in) :: device_value
    class(loss_scaler), intent(in) :: scaler
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_spike_guard_check(self%handle(), device_value, scaler%handle()), stat, errmsg)
  end subroutine
end module
