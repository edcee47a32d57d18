! SPDX-License-Identifier: Apache-2.0
! A first program in Fortran: one training step of two weights, with FP16 gradients and loss scaling.
program first_step
  use, intrinsic :: iso_fortran_env
  use syclamp
  implicit none
  type(engine) :: device
  type(device_memory) :: model, gradient
  type(optimizer) :: descent
  type(loss_scaler) :: scaler
  real(real32) :: scale, weights(2)

  call device%create()  ! on the best device
  call model%create(device, 8_int64)
  call gradient%create(device, 4_int64)
  call model%upload([1.0_real32, 1.0_real32])

  call descent%create(device, [parameter_tensor(count=2, gradient=gradient%address(), gradient_type=float16, &
    model=model%address())], [default_settings(sgd)])
  call descent%set_lr(0.5_real64)
  call scaler%create(device)

  ! The backward pass: here the gradients are 0.25 and -0.5, multiplied by the scale.
  scale = scaler%get_scale()
  call scaler%begin_step()
  call gradient%upload(round_to_bits([0.25_real32, -0.5_real32] * scale))

  call scaler%step(descent)
  call scaler%update()

  call descent%weights(1, weights)
  print '(a, f8.1, a, 2f7.3)', "scale", scale, ", weights", weights
end program
