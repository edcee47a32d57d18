! SPDX-License-Identifier: Apache-2.0
! Scaling policies, and the names of outcomes and warnings.
module syclamp_policies
  use, intrinsic :: iso_c_binding
  use syclamp_types
  use syclamp_training_calls
  use syclamp_objects
  implicit none
  private
  public :: scaling_preset, validate_policy, outcome_name, status_name

contains

  ! The policy of a framework, or of syclamp by default. After an error its struct_size is 0, so no call accepts it.
  type(scaling_policy) function scaling_preset(name, stat, errmsg) result(policy)
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: text(:)
    integer(c_int32_t) :: status
    text = to_c("syclamp")
    if (present(name)) text = to_c(name)
    policy%struct_size = c_sizeof(policy)
    status = syclamp_policy_preset(c_loc(text), policy)
    if (status /= syclamp_ok) policy = scaling_policy()
    call finish(status, stat, errmsg)
  end function

  ! The name of an outcome, such as skipped_inf.
  function outcome_name(outcome) result(name)
    integer(c_int32_t), intent(in) :: outcome
    character(:), allocatable :: name
    name = fortran_text(syclamp_step_outcome_name(outcome))
  end function

  ! The name of the status of a step, such as at_floor.
  function status_name(status) result(name)
    integer(c_int32_t), intent(in) :: status
    character(:), allocatable :: name
    name = fortran_text(syclamp_step_status_name(status))
  end function

  ! Checks every field of a policy. The message names the field, its value and the allowed values.
  subroutine validate_policy(policy, stat, errmsg)
    type(scaling_policy), intent(in) :: policy
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(scaling_policy) :: given
    given = policy
    call finish(syclamp_policy_validate(given), stat, errmsg)
  end subroutine
end module
