! SPDX-License-Identifier: Apache-2.0
! Devices, inspections of groups, casts with options, settings, and an optimizer of the program's own. All numbers are exact.
module operation_tests
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  use, intrinsic :: ieee_arithmetic
  use checks
  use syclamp
  implicit none
  private
  public :: test_operations, test_own_optimizer

contains

  subroutine test_operations()
    type(engine) :: device
    type(device_info) :: info
    type(device_memory) :: values, halves
    type(tensor_list) :: list, half_list, same, read_only
    type(inspector) :: look
    type(inspection) :: found
    type(unscaled_gradients) :: gradients
    type(scaling_policy) :: policy
    integer(int64) :: counts(-127:128)
    integer(int16) :: bits(4)
    real(real32) :: read(4), norm, coefficient
    integer :: stat, i
    character(200) :: message
    logical :: is_listed
    call device%create()
    is_listed = .false.
    do i = 0, device_count() - 1
      call describe_device(i, info)
      is_listed = is_listed .or. (info%name == device%device_name() .and. info%is_usable .and. info%memory_bytes > 0 .and. &
        info%problem == "" .and. len(info%platform) > 0 .and. len(info%profile) > 0)
    end do
    call check(is_listed, "the engine's device is in the list of devices")
    call describe_device(device_count(), info, stat, message)
    call check(stat == syclamp_invalid_argument .and. info%name == "" .and. .not. info%is_usable, "a device that does not exist")

    call values%create(device, 16_int64)
    call halves%create(device, 8_int64)
    call values%upload([3.0_real32, -4.0_real32, 0.0_real32, 2.0_real32**17])
    call list%create(device, [tensor(address=values%address(), count=2), &
      tensor(address=values%address(8_int64), count=2, group=1)])
    call half_list%create(device, [tensor(address=halves%address(), count=2, type=float16), &
      tensor(address=halves%address(4_int64), count=2, type=float16)])
    call read_only%create(device, [tensor(address=values%address(), count=4, read_only=.true.)])
    call clear(read_only, stat, message)
    call check(stat == syclamp_invalid_argument, "a tensor that is read only is not written")

    call look%create(list, inspect_histogram)
    call look%run()
    call look%group_result(0, found)
    call check(found%norm_l2 == 5 .and. found%elements == 2, "the inspection of group 0")
    call look%group_result(1, found)
    call check(found%amax == 2.0_real32**17 .and. found%zero_count == 1, "the inspection of group 1")
    call look%histogram(counts)
    call check(counts(1) == 1 .and. counts(2) == 1 .and. counts(17) == 1 .and. sum(counts) <= 4, "a histogram of exponents")
    call cast(list, half_list)
    call halves%download(bits)
    call check(bits(4) == int(z"7c00", int16), "without options, a cast overflows to Inf")
    call cast(list, half_list, cast_options(saturate=1))
    call halves%download(bits)
    call check(all(widen_bits(bits) == [3.0_real32, -4.0_real32, 0.0_real32, 65504.0_real32]), "a cast saturates")
    call cast(list, half_list, cast_options(rounding=9), stat)
    call check(stat == syclamp_invalid_argument, "an unknown rounding is refused")

    call gradients%create(list)
    call gradients%get_list(same)
    call values%upload([3.0_real32, -4.0_real32, 0.0_real32, 8.0_real32])
    call look%create(same, inspect_tensors)
    call look%run()
    call clip_by_group(look, gradients, 2.5_real32)
    call look%clip_result(norm, coefficient)
    call check(abs(norm - 5) < 1e-5_real32 .and. abs(coefficient - 0.5_real32) < 1e-5_real32, "the norm of group 0")
    call look%clip_result(norm, coefficient, group=1)
    call check(abs(norm - 8) < 1e-5_real32, "the norm of group 1")
    call values%download(read)
    call check(maxval(abs(read - [1.5_real32, -2.0_real32, 0.0_real32, 2.5_real32])) < 1e-5_real32, &
      "each group is clipped by its norm")

    policy = scaling_preset()
    call validate_policy(policy)
    policy%growth_factor = 0.5
    call validate_policy(policy, stat, message)
    call check(stat == syclamp_invalid_argument .and. index(message, "growth_factor") > 0, "a policy is checked")
  end subroutine

  ! Gradients without an optimizer of the library: unscaled in FP32, or applied by the program by the decision.
  subroutine test_own_optimizer()
    type(engine) :: device
    type(device_memory) :: model, master, gradient, unscaled
    type(tensor_list) :: list, out
    type(scaling_policy) :: policy
    type(scaler_options) :: options
    type(loss_scaler) :: scaler
    type(step_decision) :: decision
    type(step_record) :: record
    type(optimizer) :: descent
    type(optimizer_settings) :: settings
    type(optimizer_info) :: sizes
    type(unscaled_gradients) :: gradients
    real(real32) :: values(2), weights(2)
    integer :: stat
    call device%create()
    call gradient%create(device, 4_int64)
    call unscaled%create(device, 8_int64)
    call list%create(device, [tensor(address=gradient%address(), count=1, type=float16), &
      tensor(address=gradient%address(2_int64), count=1, type=float16, group=1)])
    call out%create(device, [tensor(address=unscaled%address(), count=1), tensor(address=unscaled%address(4_int64), count=1)])
    policy = scaling_preset()
    policy%init_scale = 1024
    call scaler%create(device, policy)
    call scaler%begin_step()
    call gradient%upload(round_to_bits([1024.0_real32, -3072.0_real32]))
    call scaler%unscale(list, out, gradients)
    call scaler%update()
    call scaler%outcome(record)
    call unscaled%download(values)
    call check(all(values == [1, -3]) .and. gradients%is_valid(), "gradients of no optimizer are unscaled")
    call check(record%elements == 2 .and. record%inf_count == 0, "the ledger counts gradients of no optimizer")

    options%scales = 2
    options%skip_separately = 1
    call scaler%create(device, policy, options)
    call scaler%begin_step()
    call gradient%upload([int(z"7c00", int16), int(z"3c00", int16)])
    call scaler%inspect(list, decision, group=1)
    call check(decision%apply == 1 .and. decision%unscale_first * decision%unscale_second == 2.0_real32**(-10) .and. &
      decision%clip == 1, "the decision on a group without overflow")
    call scaler%update()
    call check(scaler%get_scale() == 512 .and. scaler%get_scale(1) == 1024, "the overflow lowers the scale of its group")
    call scaler%begin_step()
    call scaler%inspect(list, decision)
    call check(decision%apply == 0, "the decision on an overflow")
    call scaler%inspect(list, decision, group=2, stat=stat)
    call check(stat == syclamp_invalid_argument .and. decision%apply == 0, "a decision of a group that does not exist")

    call model%create(device, 4_int64)
    call master%create(device, 8_int64)
    call master%upload([1.0_real32, 2.0_real32])
    settings = default_settings(adamw)
    call descent%create(device, [parameter_tensor(count=2, gradient=unscaled%address(), model=model%address(), &
      model_type=bfloat16, master=master%address())], [settings])
    call descent%weights(1, weights)
    call check(all(weights == [1, 2]), "the program's own FP32 weights are used")
    sizes = descent%describe()
    call check(sizes%parameters == 1 .and. sizes%groups == 1 .and. sizes%states == 2 .and. sizes%device_bytes >= 16, &
      "the sizes of an optimizer")
    settings%weight_decay = 0.125
    call descent%set_settings(settings)
    settings = descent%get_settings()
    call check(settings%weight_decay == 0.125_real64 .and. settings%kind == adamw, "settings are replaced")
    settings = descent%get_settings(3, stat)
    call check(stat == syclamp_invalid_argument .and. settings%struct_size == 0, "the settings of a group that does not exist")
    call descent%set_settings(settings, stat=stat)
    call check(stat == syclamp_invalid_argument, "empty settings are refused")
  end subroutine
end module
