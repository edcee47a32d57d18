! SPDX-License-Identifier: Apache-2.0
! The devices of the machine.
module syclamp_machines
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use syclamp_types
  use syclamp_device_calls
  use syclamp_objects
  implicit none
  private
  public :: device_info, device_count, describe_device

  ! The description of a device. problem: why syclamp cannot use it; empty if it can.
  type :: device_info
    character(:), allocatable :: name, platform, profile, problem
    integer(int64) :: memory_bytes = 0
    logical :: is_gpu = .false., is_usable = .false.
  end type

contains

  ! The number of devices. The first call runs a self-test on each device, which compiles kernels.
  integer function device_count(stat, errmsg)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_size_t) :: count
    integer(c_int32_t) :: status
    count = 0
    status = syclamp_device_count(count)
    device_count = int(count)
    call finish(status, stat, errmsg)
  end function

  ! Describes a device. index: from 0, as in the names that `engine%create` takes.
  subroutine describe_device(index, info, stat, errmsg)
    integer, intent(in) :: index
    type(device_info), intent(out) :: info
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_device_info), target :: found
    integer(c_int32_t) :: status
    found%struct_size = c_sizeof(found)
    status = syclamp_device_describe(int(index, c_size_t), found)
    info%name = fortran_text(c_loc(found%name))
    info%platform = fortran_text(c_loc(found%platform))
    info%profile = fortran_text(c_loc(found%profile))
    info%problem = fortran_text(c_loc(found%problem))
    info%memory_bytes = found%global_memory_bytes
    info%is_gpu = found%is_gpu /= 0
    info%is_usable = found%usable /= 0
    call finish(status, stat, errmsg)
  end subroutine
end module
