! SPDX-License-Identifier: Apache-2.0
! Functions that fail: each reports the error by stat and errmsg, and returns zeros, or a struct that no call accepts.
module error_tests
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  use checks
  use syclamp
  implicit none
  private
  public :: test_functions_that_fail

contains

  ! Every function that can fail is called without an object, or with an argument that does not exist.
  subroutine test_functions_that_fail()
    type(engine) :: device, no_engine
    type(device_memory) :: model, gradient
    type(tensor_list) :: no_list
    type(tensor_list_info) :: info
    type(engine_statistics) :: counters
    type(optimizer) :: descent, no_optimizer
    type(optimizer_settings) :: settings
    type(optimizer_progress) :: progress
    type(loss_scaler) :: scaler, no_scaler
    type(recorded_step) :: no_step
    type(scaling_policy) :: policy
    integer(int16) :: bits(2)
    real(real32) :: values(2)
    integer :: stat
    character(200) :: message
    call device%create()
    call model%create(device, 8_int64)
    call gradient%create(device, 4_int64)

    policy = scaling_preset("typo", stat, message)
    call check(stat == syclamp_invalid_argument .and. index(message, "typo") > 0, "a misspelt preset is reported")
    call check(policy%struct_size == 0 .and. policy%init_scale == 0, "a misspelt preset is an empty policy")
    call scaler%create(device, policy, stat=stat)
    call check(stat == syclamp_invalid_argument, "an empty policy is refused")
    policy = scaling_preset("pytorch", stat, message)
    call check(stat == syclamp_ok .and. policy%growth_interval == 2000, "a preset with stat")
    policy = no_scaler%get_policy(stat, message)
    call check(stat == syclamp_invalid_handle .and. index(message, "syclamp_scaler_get_policy") == 1 .and. &
      policy%struct_size == 0 .and. policy%growth_interval == 0, "the policy of no scaler")
    call check(no_scaler%get_scale(stat=stat, errmsg=message) == 0 .and. stat == syclamp_invalid_handle, "the scale of no scaler")

    settings = default_settings(99, stat, message)
    call check(stat == syclamp_invalid_argument .and. index(message, "99") > 0, "an unknown optimizer is reported")
    call check(settings%struct_size == 0 .and. settings%lr == 0, "the settings of an unknown optimizer are empty")
    call descent%create(device, [parameter_tensor(count=2, gradient=gradient%address(), gradient_type=float16, &
      model=model%address())], [settings], stat=stat)
    call check(stat == syclamp_invalid_argument, "empty settings are refused")
    call descent%create(device, [parameter_tensor(count=2, gradient=gradient%address(), gradient_type=float16, &
      model=model%address())], [default_settings(sgd, stat)])
    call check(stat == syclamp_ok, "settings with stat")
    call check(descent%get_lr(9, stat, message) == 0 .and. stat == syclamp_invalid_argument .and. index(message, "9") > 0, &
      "the learning rate of a group that does not exist")
    call check(descent%steps(9, stat, message) == 0 .and. stat == syclamp_invalid_argument, &
      "the steps of a group that does not exist")
    progress = descent%progress(9, stat, message)
    call check(stat == syclamp_invalid_argument .and. progress%finished == 0, "the progress of a group that does not exist")
    call check(no_optimizer%steps(stat=stat) == 0 .and. stat == syclamp_invalid_handle, "the steps of no optimizer")

    counters = no_engine%statistics(stat, message)
    call check(stat == syclamp_invalid_handle .and. counters%waits == 0, "the counters of no engine")
    info = no_list%describe(stat, message)
    call check(stat == syclamp_invalid_handle .and. info%tensors == 0, "the sizes of no list")
    call check(.not. no_step%is_recorded(stat, message) .and. stat == syclamp_invalid_handle, "no recorded step")
    bits = round_to_bits([1.0_real32, 2.0_real32], float64, stat, message)
    call check(stat == syclamp_invalid_argument .and. all(bits == 0), "numbers are rounded to 16 bits only")
    values = widen_bits([1_int16, 2_int16], float64, stat, message)
    call check(stat == syclamp_invalid_argument .and. all(values == 0), "only 16 bits are widened")
  end subroutine
end module
