! SPDX-License-Identifier: Apache-2.0
! Optimizers with FP32 master weights.
module syclamp_optimizers
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: real32, real64, int64
  use syclamp_types
  use syclamp_training_calls
  use syclamp_objects
  use syclamp_devices
  use syclamp_tensors
  implicit none
  private
  public :: parameter_tensor, optimizer, default_settings

  ! A tensor of weights with its gradient. It does not own memory.
  type :: parameter_tensor
    integer(int64) :: count = 0
    type(c_ptr) :: gradient = c_null_ptr, model = c_null_ptr
    integer(c_int32_t) :: gradient_type = float32, model_type = float32
    character(:), allocatable :: name
    integer(c_int32_t) :: group = 0
    logical :: replicated = .false.  ! all ranks hold the same gradient
    type(c_ptr) :: master = c_null_ptr  ! FP32 weights; null: the library allocates them and copies the model
  end type

  type, extends(object) :: optimizer
  contains
    procedure :: create => create_optimizer
    procedure :: gradients
    procedure :: apply
    procedure :: zero_gradients
    procedure :: set_lr
    procedure :: get_lr
    procedure :: set_settings
    procedure :: get_settings
    procedure :: set_schedule
    procedure :: describe
    procedure :: progress
    procedure :: steps
    procedure :: weights
  end type

contains

  ! The default settings of a kind, such as sgd or adamw. After an error struct_size is 0, so no call accepts them.
  type(optimizer_settings) function default_settings(kind, stat, errmsg) result(settings)
    integer(c_int32_t), intent(in) :: kind
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    settings%struct_size = c_sizeof(settings)
    status = syclamp_optimizer_defaults(kind, settings)
    if (status /= syclamp_ok) settings = optimizer_settings()
    call finish(status, stat, errmsg)
  end function

  ! Makes an optimizer of one group, or of as many groups as there are settings.
  subroutine create_optimizer(self, owner, parameters, settings, storage, stat, errmsg)
    class(optimizer), intent(inout) :: self
    type(engine), intent(in) :: owner
    type(parameter_tensor), intent(in) :: parameters(:)
    type(optimizer_settings), intent(in) :: settings(:)
    type(storage_options), intent(in), optional :: storage
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: names(:, :)
    type(c_parameter) :: described(size(parameters))
    type(storage_options) :: stored
    integer :: i, j, longest
    integer(c_int32_t) :: status
    type(c_ptr) :: made
    if (present(storage)) stored = storage
    stored%struct_size = c_sizeof(stored)
    longest = 0
    do i = 1, size(parameters)
      if (allocated(parameters(i)%name)) longest = max(longest, len(parameters(i)%name))
    end do
    allocate (names(longest + 1, size(parameters)), source=c_null_char)
    do i = 1, size(parameters)
      described(i)%struct_size = c_sizeof(described(i))
      described(i)%count = parameters(i)%count
      described(i)%gradient = parameters(i)%gradient
      described(i)%model = parameters(i)%model
      described(i)%gradient_type = parameters(i)%gradient_type
      described(i)%model_type = parameters(i)%model_type
      described(i)%group = parameters(i)%group
      described(i)%replicated = merge(1, 0, parameters(i)%replicated)
      described(i)%master = parameters(i)%master
      if (allocated(parameters(i)%name)) then
        do j = 1, len(parameters(i)%name)
          names(j, i) = parameters(i)%name(j:j)
        end do
      end if
      described(i)%name = c_loc(names(1, i))
    end do
    made = c_null_ptr
    status = syclamp_optimizer_create(owner%handle(), described, size(parameters, kind=c_size_t), settings, &
      size(settings, kind=c_size_t), stored, made)
    call finish_creation(self, made, status, stat, errmsg)
  end subroutine

  ! The list of gradients.
  subroutine gradients(self, list, stat, errmsg)
    class(optimizer), intent(in) :: self
    type(tensor_list), intent(inout) :: list
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: made
    made = c_null_ptr
    status = syclamp_optimizer_gradients(self%handle(), made)
    call finish_creation(list, made, status, stat, errmsg)
  end subroutine

  ! Applies gradients that were never scaled. For scaled gradients, call `step` of a loss_scaler.
  subroutine apply(self, stat, errmsg)
    class(optimizer), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_optimizer_apply(self%handle()), stat, errmsg)
  end subroutine

  ! Sets all gradients to zero.
  subroutine zero_gradients(self, stat, errmsg)
    class(optimizer), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_optimizer_zero_gradients(self%handle()), stat, errmsg)
  end subroutine

  ! Sets the learning rate of a group (from 0), or of all groups.
  subroutine set_lr(self, lr, group, stat, errmsg)
    class(optimizer), intent(in) :: self
    real(real64), intent(in) :: lr
    integer(c_int32_t), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_optimizer_set_lr(self%handle(), group_or(all_groups, group), lr), stat, errmsg)
  end subroutine

  ! The learning rate of a group (default 0), before the schedule.
  real(real64) function get_lr(self, group, stat, errmsg) result(lr)
    class(optimizer), intent(in) :: self
    integer(c_int32_t), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    lr = 0
    call finish(syclamp_optimizer_get_lr(self%handle(), group_or(0, group), lr), stat, errmsg)
  end function

  ! Replaces all settings of a group (default 0). The moments do not change.
  subroutine set_settings(self, settings, group, stat, errmsg)
    class(optimizer), intent(in) :: self
    type(optimizer_settings), intent(in) :: settings
    integer(c_int32_t), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_optimizer_set_settings(self%handle(), group_or(0, group), settings), stat, errmsg)
  end subroutine

  ! The settings of a group (default 0). After an error struct_size is 0, so no call accepts them.
  type(optimizer_settings) function get_settings(self, group, stat, errmsg) result(settings)
    class(optimizer), intent(in) :: self
    integer(c_int32_t), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: chosen, status
    chosen = 0
    if (present(group)) chosen = group
    settings%struct_size = c_sizeof(settings)
    status = syclamp_optimizer_get_settings(self%handle(), chosen, settings)
    if (status /= syclamp_ok) settings = optimizer_settings()
    call finish(status, stat, errmsg)
  end function

  ! The sizes of an optimizer, such as its device memory.
  type(optimizer_info) function describe(self, stat, errmsg) result(info)
    class(optimizer), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    info%struct_size = c_sizeof(info)
    call finish(syclamp_optimizer_describe(self%handle(), info), stat, errmsg)
  end function

  ! Sets the learning-rate schedule of all groups.
  subroutine set_schedule(self, schedule, stat, errmsg)
    class(optimizer), intent(in) :: self
    type(lr_schedule), intent(in) :: schedule
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(lr_schedule) :: given
    given = schedule
    given%struct_size = c_sizeof(given)
    call finish(syclamp_optimizer_set_schedule(self%handle(), given), stat, errmsg)
  end subroutine

  ! The steps that the device has finished so far. Does not wait.
  type(optimizer_progress) function progress(self, group, stat, errmsg)
    class(optimizer), intent(in) :: self
    integer(c_int32_t), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    progress%struct_size = c_sizeof(progress)
    call finish(syclamp_optimizer_get_progress(self%handle(), group_or(0, group), progress), stat, errmsg)
  end function

  ! The number of applied steps of a group (default 0). Waits.
  integer(int64) function steps(self, group, stat, errmsg)
    class(optimizer), intent(in) :: self
    integer(c_int32_t), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    steps = 0
    call finish(syclamp_optimizer_steps(self%handle(), group_or(0, group), steps), stat, errmsg)
  end function

  ! Copies the FP32 weights of tensor number `index`, from 1, to an array of the same size. Waits.
  subroutine weights(self, index, values, stat, errmsg)
    class(optimizer), intent(in) :: self
    integer, intent(in) :: index
    real(real32), contiguous, target, intent(inout) :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_optimizer_weights(self%handle(), int(index - 1, c_int64_t), c_loc(values), &
      size(values, kind=int64)), stat, errmsg)
  end subroutine
end module
