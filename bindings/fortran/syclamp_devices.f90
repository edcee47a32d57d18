! SPDX-License-Identifier: Apache-2.0
! Engines, device memory, and FP16 and BF16 numbers as bits.
module syclamp_devices
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: real32, real64, int16, int64
  use syclamp_types
  use syclamp_device_calls
  use syclamp_objects
  implicit none
  private
  public :: engine, device_memory, round_to_bits, widen_bits, syclamp_version_text

  ! A device and its queue.
  type, extends(object) :: engine
  contains
    procedure :: create => create_engine
    procedure :: wait => wait_for_engine
    procedure :: compile_all
    procedure :: device_name
    procedure :: statistics
  end type

  ! A block of device memory, or an array of the program that the device may use. Lists and optimizers that use the block
  ! keep it. The object that made the block frees it. Copies and views refer to the same block, but do not own it.
  type :: device_memory
    private
    type(engine) :: owner
    integer(c_intptr_t) :: home = 0
    type(c_ptr) :: start = c_null_ptr
    integer(int64) :: size_in_bytes = 0
  contains
    procedure :: create => create_memory
    procedure, private :: adopt_real32, adopt_int16
    generic :: adopt => adopt_real32, adopt_int16
    procedure :: view
    procedure :: free => free_memory
    procedure :: address
    procedure :: bytes
    procedure, private :: upload_real32, upload_int16, upload_real64
    generic :: upload => upload_real32, upload_int16, upload_real64
    procedure, private :: download_real32, download_int16, download_real64
    generic :: download => download_real32, download_int16, download_real64
    procedure :: fill
    procedure, private :: assign_memory
    generic :: assignment(=) => assign_memory
    final :: finalize_memory
  end type

contains

  ! Makes an engine. device: gpu, cpu, a number or a part of a name; default: the best usable device.
  subroutine create_engine(self, device, profile, stat, errmsg)
    class(engine), intent(inout) :: self
    character(*), intent(in), optional :: device, profile
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: device_text(:), profile_text(:)
    type(engine_options) :: options
    type(c_ptr) :: made
    integer(c_int32_t) :: status
    options%struct_size = c_sizeof(options)
    if (present(device)) then
      device_text = to_c(device)
      options%device = c_loc(device_text)
    end if
    if (present(profile)) then
      profile_text = to_c(profile)
      options%profile = c_loc(profile_text)
    end if
    made = c_null_ptr
    status = syclamp_engine_create(options, made)
    call finish_creation(self, made, status, stat, errmsg)
  end subroutine

  ! Waits until all submitted work is complete.
  subroutine wait_for_engine(self, stat, errmsg)
    class(engine), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_engine_wait(self%handle()), stat, errmsg)
  end subroutine

  ! Compiles all kernels, so that no later call compiles.
  subroutine compile_all(self, stat, errmsg)
    class(engine), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_engine_compile_all(self%handle()), stat, errmsg)
  end subroutine

  ! The name of the device; empty before `create`.
  function device_name(self) result(name)
    class(engine), intent(in) :: self
    character(:), allocatable :: name
    type(c_ptr) :: text
    name = ""
    text = c_null_ptr
    if (syclamp_engine_device_name(self%handle(), text) == syclamp_ok) name = take_text(text)
  end function

  ! Counters of kernels and waits.
  type(engine_statistics) function statistics(self, stat, errmsg)
    class(engine), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    statistics%struct_size = c_sizeof(statistics)
    call finish(syclamp_engine_get_statistics(self%handle(), statistics), stat, errmsg)
  end function

  ! Allocates a block. kind: device_kind (default), shared_kind or host_kind.
  subroutine create_memory(self, owner, bytes, kind, stat, errmsg)
    class(device_memory), intent(inout) :: self
    type(engine), intent(in) :: owner
    integer(int64), intent(in) :: bytes
    integer(c_int32_t), intent(in), optional :: kind
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status, where_it_lies
    type(c_ptr) :: made
    where_it_lies = device_kind
    if (present(kind)) where_it_lies = kind
    made = c_null_ptr
    status = syclamp_memory_allocate(owner%handle(), bytes, where_it_lies, made)
    if (status == syclamp_ok) call keep(self, owner, made, bytes)
    call finish(status, stat, errmsg)
  end subroutine

  subroutine keep(self, owner, start, bytes)
    class(device_memory), intent(inout) :: self
    type(engine), intent(in) :: owner
    type(c_ptr), intent(in) :: start
    integer(int64), intent(in) :: bytes
    call self%free()
    self%owner = owner
    self%start = start
    self%size_in_bytes = bytes
    self%home = address_of(self%home)
  end subroutine

  impure elemental subroutine assign_memory(to, from)
    class(device_memory), intent(inout) :: to
    class(device_memory), intent(in) :: from
    if (c_associated(to%start, from%start)) return  ! the same block
    call to%free()
    to%owner = from%owner
    to%start = from%start
    to%size_in_bytes = from%size_in_bytes
  end subroutine

  impure elemental subroutine finalize_memory(self)
    type(device_memory), intent(inout) :: self
    integer :: stat
    call self%free(stat)
  end subroutine

  subroutine adopt(self, owner, start, bytes, stat, errmsg)
    class(device_memory), intent(inout) :: self
    type(engine), intent(in) :: owner
    type(c_ptr), intent(in) :: start
    integer(int64), intent(in) :: bytes
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    status = syclamp_memory_adopt(owner%handle(), start, bytes)
    if (status == syclamp_ok) call keep(self, owner, start, bytes)
    call finish(status, stat, errmsg)
  end subroutine

  ! Lets the device use an array of the program. The array must have the attribute target and stay allocated.
  subroutine adopt_real32(self, owner, values, stat, errmsg)
    class(device_memory), intent(inout) :: self
    type(engine), intent(in) :: owner
    real(real32), contiguous, target, intent(in) :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call adopt(self, owner, c_loc(values), 4 * size(values, kind=int64), stat, errmsg)
  end subroutine

  subroutine adopt_int16(self, owner, values, stat, errmsg)
    class(device_memory), intent(inout) :: self
    type(engine), intent(in) :: owner
    integer(int16), contiguous, target, intent(in) :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call adopt(self, owner, c_loc(values), 2 * size(values, kind=int64), stat, errmsg)
  end subroutine

  ! Refers to memory of the device that something else owns, such as a part of a block or the numbers of a consensus_sum.
  subroutine view(self, owner, start, bytes, stat, errmsg)
    class(device_memory), intent(inout) :: self
    type(engine), intent(in) :: owner
    type(c_ptr), intent(in) :: start
    integer(int64), intent(in) :: bytes
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call self%free(stat, errmsg)
    self%owner = owner
    self%start = start
    self%size_in_bytes = bytes
  end subroutine

  ! Frees the block, unless this is a copy or a view. Finalization does the same.
  subroutine free_memory(self, stat, errmsg)
    class(device_memory), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    status = syclamp_ok
    if (self%home == address_of(self%home)) status = syclamp_memory_free(self%start)
    self%start = c_null_ptr
    self%size_in_bytes = 0
    self%home = 0
    call finish(status, stat, errmsg)
  end subroutine

  ! The address of the block, or of the byte that is `offset` bytes behind it.
  type(c_ptr) function address(self, offset)
    class(device_memory), intent(in) :: self
    integer(int64), intent(in), optional :: offset
    address = self%start
    if (present(offset)) address = transfer(transfer(self%start, offset) + offset, address)
  end function

  integer(int64) function bytes(self)
    class(device_memory), intent(in) :: self
    bytes = self%size_in_bytes
  end function

  ! Copies arrays to the start of the block. Waits.
  subroutine upload_real32(self, values, stat, errmsg)
    class(device_memory), intent(in) :: self
    real(real32), contiguous, target, intent(in) :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_memory_copy_in(self%owner%handle(), self%start, c_loc(values), 4 * size(values, kind=int64)), &
      stat, errmsg)
  end subroutine

  subroutine upload_real64(self, values, stat, errmsg)
    class(device_memory), intent(in) :: self
    real(real64), contiguous, target, intent(in) :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_memory_copy_in(self%owner%handle(), self%start, c_loc(values), 8 * size(values, kind=int64)), &
      stat, errmsg)
  end subroutine

  subroutine upload_int16(self, values, stat, errmsg)
    class(device_memory), intent(in) :: self
    integer(int16), contiguous, target, intent(in) :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_memory_copy_in(self%owner%handle(), self%start, c_loc(values), 2 * size(values, kind=int64)), &
      stat, errmsg)
  end subroutine

  ! Copies from the start of the block to arrays. Waits.
  subroutine download_real32(self, values, stat, errmsg)
    class(device_memory), intent(in) :: self
    real(real32), contiguous, target, intent(inout) :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_memory_copy_out(self%owner%handle(), c_loc(values), self%start, 4 * size(values, kind=int64)), &
      stat, errmsg)
  end subroutine

  subroutine download_real64(self, values, stat, errmsg)
    class(device_memory), intent(in) :: self
    real(real64), contiguous, target, intent(inout) :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_memory_copy_out(self%owner%handle(), c_loc(values), self%start, 8 * size(values, kind=int64)), &
      stat, errmsg)
  end subroutine

  subroutine download_int16(self, values, stat, errmsg)
    class(device_memory), intent(in) :: self
    integer(int16), contiguous, target, intent(inout) :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_memory_copy_out(self%owner%handle(), c_loc(values), self%start, 2 * size(values, kind=int64)), &
      stat, errmsg)
  end subroutine

  ! Sets every byte of the block.
  subroutine fill(self, value, stat, errmsg)
    class(device_memory), intent(in) :: self
    integer(c_int32_t), intent(in) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(syclamp_memory_fill(self%owner%handle(), self%start, value, self%size_in_bytes), stat, errmsg)
  end subroutine

  ! FP32 numbers as the bits of FP16 (default) or BF16 numbers, rounded to nearest even. After an error all are 0.
  function round_to_bits(values, type, stat, errmsg) result(bits)
    real(real32), contiguous, target, intent(in) :: values(:)
    integer(c_int32_t), intent(in), optional :: type
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(int16), allocatable, target :: bits(:)
    integer(c_int32_t) :: format
    format = float16
    if (present(type)) format = type
    allocate (bits(size(values)), source=0_int16)
    call finish(syclamp_host_round(c_loc(values), format, c_loc(bits), size(values, kind=c_size_t)), stat, errmsg)
  end function

  ! The FP32 numbers of FP16 (default) or BF16 bits, exactly. After an error all are 0.
  function widen_bits(bits, type, stat, errmsg) result(values)
    integer(int16), contiguous, target, intent(in) :: bits(:)
    integer(c_int32_t), intent(in), optional :: type
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real32), allocatable, target :: values(:)
    integer(c_int32_t) :: format
    format = float16
    if (present(type)) format = type
    allocate (values(size(bits)), source=0.0_real32)
    call finish(syclamp_host_widen(c_loc(bits), format, c_loc(values), size(bits, kind=c_size_t)), stat, errmsg)
  end function

  ! The version of the library.
  function syclamp_version_text() result(version)
    character(:), allocatable :: version
    version = fortran_text(syclamp_version())
  end function
end module
