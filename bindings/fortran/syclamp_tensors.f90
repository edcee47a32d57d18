! SPDX-License-Identifier: Apache-2.0
! Lists of tensors, inspections and operations on gradients.
module syclamp_tensors
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use syclamp_types
  use syclamp_device_calls
  use syclamp_objects
  use syclamp_devices
  implicit none
  private
  public :: tensor, tensor_list, inspector, unscaled_gradients
  public :: unscale, scale_list, accumulate, clear, cast, clip, clip_by_group, clip_by_value

  ! The description of a tensor. It does not own memory.
  type :: tensor
    type(c_ptr) :: address = c_null_ptr  ! null: the tensor is absent
    integer(int64) :: count = 0
    integer(c_int32_t) :: type = float32
    character(:), allocatable :: name
    integer(c_int32_t) :: group = 0
    logical :: replicated = .false.  ! all ranks hold the same tensor
    logical :: read_only = .false.  ! operations must not write it
  end type

  type, extends(object) :: tensor_list
  contains
    procedure :: create => create_list
    procedure :: describe
    procedure :: set_addresses
  end type

  type, extends(object) :: inspector
  contains
    procedure :: create => create_inspector
    procedure :: run
    procedure :: result => whole_result
    procedure :: tensor_result
    procedure :: group_result
    procedure :: histogram
    procedure :: clip_result
  end type

  ! FP32 gradients that are known to be unscaled, for clipping by hand.
  type, extends(object) :: unscaled_gradients
  contains
    procedure :: create => create_unscaled
    procedure :: get_list
  end type

contains

  ! Makes a list of tensors. Waits.
  subroutine create_list(self, owner, tensors, stat, errmsg)
    class(tensor_list), intent(inout) :: self
    type(engine), intent(in) :: owner
    type(tensor), intent(in) :: tensors(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: names(:, :)
    type(c_tensor) :: described(size(tensors))
    integer :: i, j, longest
    integer(c_int32_t) :: status
    type(c_ptr) :: made
    longest = 0
    do i = 1, size(tensors)
      if (allocated(tensors(i)%name)) longest = max(longest, len(tensors(i)%name))
    end do
    allocate (names(longest + 1, size(tensors)), source=c_null_char)
    do i = 1, size(tensors)
      described(i)%struct_size = c_sizeof(described(i))
      described(i)%address = tensors(i)%address
      described(i)%count = tensors(i)%count
      described(i)%type = tensors(i)%type
      described(i)%group = tensors(i)%group
      described(i)%replicated = merge(1, 0, tensors(i)%replicated)
      described(i)%read_only = merge(1, 0, tensors(i)%read_only)
      if (allocated(tensors(i)%name)) then
        do j = 1, len(tensors(i)%name)
          names(j, i) = tensors(i)%name(j:j)
        end do
      end if
      described(i)%name = c_loc(names(1, i))
    end do
    made = c_null_ptr
    status = syclamp_tensor_list_create(owner%handle(), described, size(tensors, kind=c_size_t), made)
    call finish_creation(self, made, status, stat, errmsg)
  end subroutine

  ! The sizes of a list.
  type(tensor_list_info) function describe(self, stat, errmsg) result(info)
    class(tensor_list), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    info%struct_size = c_sizeof(info)
    call finish(syclamp_tensor_list_describe(self%handle(), info), stat, errmsg)
  end function

  ! Sets the addresses of all tensors; null: the tensor is absent.
  subroutine set_addresses(self, addresses, stat, errmsg)
    class(tensor_list), intent(in) :: self
    type(c_ptr), intent(in) :: addresses(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_tensor_list_set_addresses(self%handle(), addresses, size(addresses, kind=c_size_t)), stat, errmsg)
  end subroutine

  ! level: inspect_list (default), inspect_tensors or inspect_histogram.
  subroutine create_inspector(self, list, level, stat, errmsg)
    class(inspector), intent(inout) :: self
    class(tensor_list), intent(in) :: list
    integer(c_int32_t), intent(in), optional :: level
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status, detail
    type(c_ptr) :: made
    detail = inspect_list
    if (present(level)) detail = level
    made = c_null_ptr
    status = syclamp_inspector_create(list%handle(), detail, made)
    call finish_creation(self, made, status, stat, errmsg)
  end subroutine

  ! Submits an inspection of gradients that were scaled by `scale` (default 1).
  subroutine run(self, scale, stat, errmsg)
    class(inspector), intent(in) :: self
    real(c_float), intent(in), optional :: scale
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(c_float) :: factor
    factor = 1
    if (present(scale)) factor = scale
    call finish(syclamp_inspector_run(self%handle(), factor, c_null_ptr), stat, errmsg)
  end subroutine

  ! The result of the whole list. Waits.
  subroutine whole_result(self, found, stat, errmsg)
    class(inspector), intent(in) :: self
    type(inspection), intent(out) :: found
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    found%struct_size = c_sizeof(found)
    call finish(syclamp_inspector_result(self%handle(), found), stat, errmsg)
  end subroutine

  ! The result of tensor number `index`, from 1. Waits. Needs inspect_tensors.
  subroutine tensor_result(self, index, found, stat, errmsg)
    class(inspector), intent(in) :: self
    integer, intent(in) :: index
    type(inspection), intent(out) :: found
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    found%struct_size = c_sizeof(found)
    call finish(syclamp_inspector_tensor(self%handle(), int(index - 1, c_int64_t), found), stat, errmsg)
  end subroutine

  ! The result of a group, from 0. Waits. Needs inspect_tensors.
  subroutine group_result(self, group, found, stat, errmsg)
    class(inspector), intent(in) :: self
    integer(c_int32_t), intent(in) :: group
    type(inspection), intent(out) :: found
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    found%struct_size = c_sizeof(found)
    call finish(syclamp_inspector_group(self%handle(), group, found), stat, errmsg)
  end subroutine

  ! The histogram of exponents: counts(e) elements have an absolute value in [2**e, 2**(e + 1)). The first one counts FP32
  ! subnormals, the last one Inf and NaN. Waits. Needs inspect_histogram.
  subroutine histogram(self, counts, stat, errmsg)
    class(inspector), intent(in) :: self
    integer(int64), intent(out) :: counts(-127:128)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    counts = 0
    call finish(syclamp_inspector_histogram(self%handle(), counts), stat, errmsg)
  end subroutine

  ! The norm of the last `clip` with this inspector, or of a group (from 0) after `clip_by_group`, and the factor that was
  ! applied. Waits.
  subroutine clip_result(self, norm, coefficient, group, stat, errmsg)
    class(inspector), intent(in) :: self
    real(c_float), intent(out) :: norm, coefficient
    integer(c_int32_t), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    norm = 0
    coefficient = 0
    call finish(syclamp_clip_result(self%handle(), group_or(0, group), norm, coefficient), stat, errmsg)
  end subroutine

  ! The list of unscaled gradients, to read them or to inspect them.
  subroutine get_list(self, list, stat, errmsg)
    class(unscaled_gradients), intent(in) :: self
    type(tensor_list), intent(inout) :: list
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: made
    made = c_null_ptr
    status = syclamp_unscaled_list(self%handle(), made)
    call finish_creation(list, made, status, stat, errmsg)
  end subroutine

  ! Declares that gradients were never scaled, or have been unscaled.
  subroutine create_unscaled(self, list, stat, errmsg)
    class(unscaled_gradients), intent(inout) :: self
    class(tensor_list), intent(in) :: list
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: made
    made = c_null_ptr
    status = syclamp_unscaled_create(list%handle(), made)
    call finish_creation(self, made, status, stat, errmsg)
  end subroutine

  ! to = from / scale, in FP32.
  subroutine unscale(from, to, scale, stat, errmsg)
    class(tensor_list), intent(in) :: from, to
    real(c_float), intent(in) :: scale
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_unscale(from%handle(), to%handle(), scale, c_null_ptr, c_null_ptr), stat, errmsg)
  end subroutine

  ! to = from * factor.
  subroutine scale_list(from, to, factor, stat, errmsg)
    class(tensor_list), intent(in) :: from, to
    real(c_float), intent(in) :: factor
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_scale(from%handle(), to%handle(), factor, c_null_ptr), stat, errmsg)
  end subroutine

  ! sum = sum + from / scale, in FP32.
  subroutine accumulate(from, sum, scale, stat, errmsg)
    class(tensor_list), intent(in) :: from, sum
    real(c_float), intent(in) :: scale
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_accumulate(from%handle(), sum%handle(), scale, c_null_ptr, c_null_ptr, c_null_ptr), stat, errmsg)
  end subroutine

  ! Sets every element to zero.
  subroutine clear(list, stat, errmsg)
    class(tensor_list), intent(in) :: list
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_clear(list%handle(), c_null_ptr), stat, errmsg)
  end subroutine

  ! Casts to the type of `to`. Without options: to nearest even, and values outside the range become Inf.
  subroutine cast(from, to, options, stat, errmsg)
    class(tensor_list), intent(in) :: from, to
    type(cast_options), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(cast_options), target :: given
    if (present(options)) given = options
    given%struct_size = c_sizeof(given)
    call finish(syclamp_cast(from%handle(), to%handle(), c_loc(given)), stat, errmsg)
  end subroutine

  ! Clips gradients by the norm of the inspector's last run. kind: norm_l2 (default), norm_l1 or norm_l_infinity.
  subroutine clip(inspected, gradients, max_norm, kind, stat, errmsg)
    class(inspector), intent(in) :: inspected
    class(unscaled_gradients), intent(in) :: gradients
    real(c_float), intent(in) :: max_norm
    integer(c_int32_t), intent(in), optional :: kind
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: norm
    norm = norm_l2
    if (present(kind)) norm = kind
    call finish(syclamp_clip(inspected%handle(), gradients%handle(), max_norm, c_null_ptr, norm), stat, errmsg)
  end subroutine

  ! Clips each group by its own norm, as `clip`. The inspector needs inspect_tensors.
  subroutine clip_by_group(inspected, gradients, max_norm, kind, stat, errmsg)
    class(inspector), intent(in) :: inspected
    class(unscaled_gradients), intent(in) :: gradients
    real(c_float), intent(in) :: max_norm
    integer(c_int32_t), intent(in), optional :: kind
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: norm
    norm = norm_l2
    if (present(kind)) norm = kind
    call finish(syclamp_clip_by_group(inspected%handle(), gradients%handle(), max_norm, c_null_ptr, norm), stat, errmsg)
  end subroutine

  ! Clamps every element to [-limit, limit].
  subroutine clip_by_value(gradients, limit, stat, errmsg)
    class(unscaled_gradients), intent(in) :: gradients
    real(c_float), intent(in) :: limit
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_clip_by_value(gradients%handle(), limit, c_null_ptr), stat, errmsg)
  end subroutine
end module
