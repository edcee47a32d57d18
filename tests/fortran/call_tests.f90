! SPDX-License-Identifier: Apache-2.0
! Memory, groups, storage of weights, accumulated gradients, and a policy that stops. All numbers are exact.
module call_tests
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  use checks
  use syclamp
  implicit none
  private
  public :: test_memory, test_groups_and_storage, test_accumulation, test_resume

contains

  subroutine test_memory()
    type(engine) :: device
    type(device_memory) :: block, adopted, halves
    type(tensor_list) :: doubles, floats, bits_list
    real(real32), allocatable, target :: values(:, :)
    integer(int16), allocatable, target :: bits(:)
    real(real64) :: sent(2, 2), received(2, 2)
    integer :: stat
    character(200) :: message
    call check(index(syclamp_version_text(), "0.") == 1, "the version is a text")
    call device%create()

    sent = reshape([1.0_real64 / 3, -2.5_real64, 0.0_real64, 1e300_real64], [2, 2])
    call block%create(device, 32_int64, kind=shared_kind)
    call block%upload(sent)
    call block%download(received)
    call check(all(received == sent), "real64 arrays travel without rounding")
    call block%fill(0)
    call block%download(received)
    call check(all(received == 0), "fill sets every byte")
    call block%fill(int(z"40", c_int32_t))
    call block%download(received)
    call check(all(transfer(received, [0_int64]) == int(z"4040404040404040", int64)), "fill takes any byte")

    allocate (values(2, 2), bits(4))
    values = reshape([1.0_real32, -2.0_real32, 3.0_real32, 4.0_real32], [2, 2])
    call adopted%adopt(device, values)
    call check(c_associated(adopted%address(), c_loc(values)) .and. adopted%bytes() == 16, "an adopted array is not copied")
    call doubles%create(device, [tensor(address=block%address(), count=4, type=float64)])
    call floats%create(device, [tensor(address=adopted%address(), count=4)])
    call block%upload(reshape([0.5_real64, -0.25_real64, 0.0_real64, 8.0_real64], [2, 2]))
    call cast(doubles, floats)
    call device%wait()
    call check(all(values == reshape([0.5_real32, -0.25_real32, 0.0_real32, 8.0_real32], [2, 2])), &
      "the device writes an adopted array, from FP64")

    ! BF16 has 8 bits, so 2**-20 + 2**-28 is a tie, which is rounded to the even number 2**-20.
    bits = round_to_bits([1.0_real32, 2.0_real32**(-20) * (1 + 2.0_real32**(-8)), -2.0_real32**100, 0.0_real32], bfloat16)
    call check(all(bits == [int(z"3f80", int16), int(z"3580", int16), int(z"f180", int16), 0_int16]), &
      "FP32 numbers are rounded to BF16 bits")
    call check(all(widen_bits(bits, bfloat16) == [1.0_real32, 2.0_real32**(-20), -2.0_real32**100, 0.0_real32]), &
      "BF16 bits are widened")
    call halves%adopt(device, bits)
    call bits_list%create(device, [tensor(address=halves%address(), count=4, type=bfloat16)])
    call scale_list(bits_list, floats, 2.0_real32)
    call device%wait()
    call check(all(reshape(values, [4]) == [2.0_real32, 2.0_real32**(-19), -2.0_real32**101, 0.0_real32]), &
      "the device reads adopted BF16 numbers")

    call adopted%free()
    values = 5
    call check(.not. c_associated(adopted%address()) .and. values(2, 2) == 5, "free leaves an adopted array alone")
    call adopted%download(values, stat, message)
    call check(stat == syclamp_invalid_argument, "freed memory is refused")
    call device%compile_all()
    call check(c_associated(device%handle()), "an engine has a handle for calls of the C interface")
    call device%destroy()
    call device%compile_all(stat, message)
    call check(stat == syclamp_invalid_handle .and. index(message, "syclamp_engine_compile_all") == 1, &
      "a destroyed engine compiles nothing")
  end subroutine

  ! Two groups with learning rates of their own. Their BF16 weights are stored in two ways.
  subroutine test_groups_and_storage()
    type(engine) :: device
    type(device_memory) :: model(2), gradient(2)
    type(optimizer) :: descent
    type(optimizer_settings) :: settings(2)
    type(parameter_tensor) :: parameters(2)
    type(storage_options) :: storage(2)
    type(tensor_list) :: list
    type(tensor_list_info) :: info
    type(unscaled_gradients) :: unscaled
    type(loss_scaler) :: scaler
    type(optimizer_progress) :: progress
    integer(int16) :: bits(2)
    real(real32) :: weights(2)
    integer :: i, way, stat
    call device%create()
    storage(2)%remainders = 1
    storage(2)%unscaled_shadow = 1
    do way = 1, 2
      do i = 1, 2
        call model(i)%create(device, 4_int64)
        call gradient(i)%create(device, 4_int64)
        call model(i)%upload(round_to_bits([1.0_real32, -1.0_real32], bfloat16))
        call gradient(i)%upload(round_to_bits([4.0_real32, 0.0_real32], bfloat16))
        parameters(i) = parameter_tensor(count=2, gradient=gradient(i)%address(), model=model(i)%address(), &
          gradient_type=bfloat16, model_type=bfloat16, group=i - 1)
        settings(i) = default_settings(sgd)
      end do
      settings(1)%lr = 2.0_real64**(-12)
      settings(2)%lr = 0.25_real64
      call descent%create(device, parameters, settings, storage(way))
      call descent%gradients(list)
      info = list%describe()
      call check(info%groups == 2 .and. descent%get_lr(1) == 0.25_real64, "each group has its learning rate")
      call scaler%create(device, scaling_preset("pytorch"))
      call scaler%begin_step()
      call scaler%unscale(descent, unscaled, stat=stat)
      call check((stat == syclamp_ok) .eqv. way == 2, "16-bit gradients are unscaled only with memory for it")
      call scaler%step(descent)
      call scaler%update()
      ! The gradients are divided by 2**16. Group 0 moves by 2**-26, which FP32 weights near 1 cannot hold; group 1 by 2**-16.
      call descent%weights(2, weights)
      call check(all(weights == [1 - 2.0_real32**(-16), -1.0_real32]), "FP32 weights keep what BF16 loses")
      call model(2)%download(bits)
      call check(all(widen_bits(bits, bfloat16) == [1.0_real32, -1.0_real32]), "the model holds rounded weights")
      call descent%weights(1, weights)
      call check(all(weights == [1.0_real32, -1.0_real32]), "a learning rate belongs to its group")
      call descent%set_lr(2.0_real64**15, 0_c_int32_t)
      call scaler%begin_step()
      call scaler%step(descent)
      call scaler%update()
      call descent%weights(1, weights)
      progress = descent%progress(1)
      call check(weights(1) == -1 .and. progress%applied == 2 .and. descent%get_lr(1) == 0.25_real64, &
        "the learning rate of one group is changed")
      call descent%apply()
      call descent%weights(1, weights)
      call check(weights(1) == -1 - 4 * 2.0_real32**15, "apply takes gradients as they are")
    end do
  end subroutine

  ! Three micro-batches, one with an overflow, and a loss on the device.
  subroutine test_accumulation()
    real(real32), parameter :: gradients(3) = [1.0_real32, 3.0_real32, 8.0_real32]
    type(engine) :: device
    type(device_memory) :: model, gradient, sums, loss
    type(tensor_list) :: gradient_list, loss_list, sum_list
    type(optimizer) :: descent
    type(scaling_policy) :: policy
    type(loss_scaler) :: scaler
    type(step_record) :: record
    real(real32) :: weights(1), scaled(1)
    integer :: i
    call device%create()
    call model%create(device, 4_int64)
    call gradient%create(device, 2_int64)
    call sums%create(device, 4_int64)
    call loss%create(device, 4_int64)
    call model%upload([10.0_real32])
    call sums%fill(0)
    call gradient_list%create(device, [tensor(address=gradient%address(), count=1, type=float16)])
    call sum_list%create(device, [tensor(address=sums%address(), count=1)])
    call loss_list%create(device, [tensor(address=loss%address(), count=1)])
    call descent%create(device, [parameter_tensor(count=1, gradient=sums%address(), model=model%address())], &
      [default_settings(sgd)])
    call descent%set_lr(1.0_real64)
    policy = scaling_preset("pytorch")
    policy%init_scale = 2.0_real64**14
    call scaler%create(device, policy)
    do i = 1, 3
      call loss%upload([0.5_real32])
      call scaler%scale(loss_list)
      call loss%download(scaled)
      call check(scaled(1) == 2.0_real32**13, "a loss is scaled on the device")
      call gradient%upload(round_to_bits([2 * scaled(1) * gradients(i)]))  ! 8 * 2**14 overflows FP16
      call scaler%accumulate(gradient_list, sum_list)
      if (i < 3) cycle
      call scaler%step_accumulated(descent, max_norm=1.5_real32)
      call scaler%update()
    end do
    call descent%weights(1, weights)
    call scaler%outcome(record)
    ! The mean of 1 and 3 is 2, which is clipped to 1.5. The coefficient has the rounding error of a division and a root.
    call check(abs(weights(1) - 8.5_real32) < 1e-5_real32, "the mean of the micro-batches without overflow is applied")
    call check(record%outcome == outcome_applied .and. abs(record%norm - 2) < 1e-5_real32, "the record has the norm of the mean")
  end subroutine

  subroutine test_resume()
    type(engine) :: device
    type(device_memory) :: model, gradient
    type(optimizer) :: descent
    type(scaling_policy) :: policy
    type(loss_scaler) :: scaler
    type(step_record) :: record
    real(real32) :: weights(1)
    integer :: i
    integer(int16), parameter :: bits(3) = [int(z"7c00", int16), int(z"3c00", int16), int(z"3c00", int16)]
    call device%create()
    call model%create(device, 4_int64)
    call gradient%create(device, 2_int64)
    call model%upload([1.0_real32])
    call descent%create(device, [parameter_tensor(count=1, gradient=gradient%address(), gradient_type=float16, &
      model=model%address())], [default_settings(sgd)])
    call descent%set_lr(1.0_real64)
    policy = scaling_preset()
    policy%init_scale = 2
    policy%give_up_after = 1
    policy%on_give_up = give_up_stop
    call scaler%create(device, policy)
    do i = 1, 3  ! an overflow, a step of a policy that has stopped, and a step after resume
      if (i == 3) call scaler%resume()
      call scaler%begin_step()
      call gradient%upload(bits(i:i))
      call scaler%step(descent)
      call scaler%update()
      call scaler%outcome(record)
      call descent%weights(1, weights)
      call check((weights(1) == 1) .eqv. i < 3, "a policy that has stopped applies nothing until it resumes")
      call check((record%outcome == outcome_applied) .eqv. i == 3, "the record of a policy that stops")
    end do
    call check(descent%steps() == 1, "only the step after resume counts")
  end subroutine
end module
