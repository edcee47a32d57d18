! SPDX-License-Identifier: Apache-2.0
! What all types of the module syclamp share: a checked handle, assignment, finalization and errors.
module syclamp_objects
  use, intrinsic :: iso_c_binding
  use syclamp_types
  use syclamp_device_calls
  implicit none
  private
  public :: object, finish, finish_creation, group_or, last_error, to_c, take_text, fortran_text, address_of, handles_of
  public :: syclamp_live_count

  ! The base of engine, tensor_list and so on. It owns one handle of the library.
  !
  ! Compilers copy objects bit for bit into temporaries, and some finalize these copies, too. So an object remembers its
  ! own place in memory: a copy at another place owns nothing, and its finalization does nothing.
  type :: object
    private
    type(c_ptr) :: token = c_null_ptr
    integer(c_intptr_t) :: home = 0
  contains
    procedure :: handle => get_handle
    procedure :: own
    procedure :: destroy
    procedure :: is_valid
    procedure, private :: assign_object
    generic :: assignment(=) => assign_object  ! both sides then share the object of the library
    final :: finalize
  end type

contains

  ! An address as a number, to compare places in memory.
  integer(c_intptr_t) function address_of(number)
    integer(c_intptr_t), intent(in), target :: number
    address_of = transfer(c_loc(number), address_of)
  end function

  ! The handle, for calls of the C interface. It is null before `create`.
  type(c_ptr) function get_handle(self) result(handle)
    class(object), intent(in) :: self
    handle = self%token
  end function

  function handles_of(objects) result(handles)
    class(object), intent(in) :: objects(:)
    type(c_ptr) :: handles(size(objects))
    integer :: i
    do i = 1, size(objects)
      handles(i) = objects(i)%handle()
    end do
  end function

  logical function is_valid(self)
    class(object), intent(in) :: self
    is_valid = c_associated(self%token)
  end function

  ! Takes a new handle, and releases the present one.
  subroutine own(self, token)
    class(object), intent(inout) :: self
    type(c_ptr), intent(in) :: token
    call self%destroy()
    self%token = token
    self%home = address_of(self%home)
  end subroutine

  ! Releases the handle. The object of the library lives on while others share or need it.
  subroutine destroy(self)
    class(object), intent(inout) :: self
    integer(c_int32_t) :: status
    if (c_associated(self%token) .and. self%home == address_of(self%home)) status = syclamp_handle_destroy(self%token)
    self%token = c_null_ptr
    self%home = 0
  end subroutine

  impure elemental subroutine assign_object(to, from)
    class(object), intent(inout) :: to
    class(object), intent(in) :: from
    type(c_ptr) :: copy
    if (.not. same_type_as(to, from)) error stop "syclamp: an object of another type is assigned"
    if (c_associated(to%token, from%token)) return  ! the same object
    copy = c_null_ptr
    if (c_associated(from%token)) then
      if (syclamp_handle_copy(from%token, copy) /= syclamp_ok) error stop "syclamp: a destroyed object is assigned"
    end if
    call to%own(copy)
  end subroutine

  impure elemental subroutine finalize(self)
    type(object), intent(inout) :: self
    call self%destroy()
  end subroutine

  ! Hands a status to the caller. Without `stat`, an error ends the program with its message.
  subroutine finish(status, stat, errmsg)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: message
    if (present(stat)) stat = status
    if (status == syclamp_ok) return
    message = last_error()
    if (present(errmsg)) errmsg = message
    if (.not. present(stat)) error stop message
  end subroutine

  ! Ends a call that creates an object: `target` takes the new handle over, or the error is reported.
  subroutine finish_creation(target, made, status, stat, errmsg)
    class(object), intent(inout) :: target
    type(c_ptr), intent(in) :: made
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (status == syclamp_ok) call target%own(made)
    call finish(status, stat, errmsg)
  end subroutine

  ! The group that the caller has chosen, or the default.
  integer(c_int32_t) function group_or(default, group)
    integer(c_int32_t), intent(in) :: default
    integer(c_int32_t), intent(in), optional :: group
    group_or = default
    if (present(group)) group_or = group
  end function

  ! The message of the last call that failed on this thread.
  function last_error() result(message)
    character(:), allocatable :: message
    message = fortran_text(syclamp_last_error())
  end function

  ! A copy of a text that ends with a 0.
  function fortran_text(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: length, i
    if (.not. c_associated(address)) then
      text = ""
      return
    end if
    length = 0
    do
      call c_f_pointer(address, letters, [length + 1])
      if (letters(length + 1) == c_null_char) exit
      length = length + 1
    end do
    allocate (character(length) :: text)
    do i = 1, length
      text(i:i) = letters(i)
    end do
  end function

  ! Copies a text of the library, and frees the original.
  function take_text(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    integer(c_int32_t) :: status
    text = fortran_text(address)
    status = syclamp_text_free(address)
  end function

  ! A text for C: without trailing blanks, with a 0 at the end.
  function to_c(text) result(made)
    character(*), intent(in) :: text
    character(kind=c_char), allocatable :: made(:)
    integer :: i, length
    length = len_trim(text)
    allocate (made(length + 1))
    do i = 1, length
      made(i) = text(i:i)
    end do
    made(length + 1) = c_null_char
  end function

  ! The number of objects, blocks of memory and texts that the library still holds.
  integer(c_size_t) function syclamp_live_count() result(count)
    count = syclamp_live_objects()
  end function
end module
