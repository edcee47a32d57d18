! SPDX-License-Identifier: Apache-2.0
! A time loop that trains a surrogate beside the simulation.
!
! The simulation is the heat equation in one dimension: u_t = kappa * u_xx on a rod with cold ends. Every few time steps
! the surrogate sees the state u and the state some steps later, and learns the linear map between them. Its gradients
! are stored in FP16. They are small, so the loss is scaled. In the end the surrogate makes the same jump as the
! simulation. The program ends with exit code 1 if the surrogate has not learned it.
program surrogate
  use, intrinsic :: iso_fortran_env, only: real32, real64, int64
  use syclamp
  implicit none

  integer, parameter :: points = 24, jump = 20, rods = 64, rounds = 900
  real(real32), parameter :: number = 0.4_real32  ! kappa * dt / dx**2
  real(real32) :: now(points, rods), later(points, rods), weights(points, points), gradient(points, points)
  real(real32) :: scale, loss, first_loss
  type(engine) :: device
  type(device_memory) :: model, gradients
  type(optimizer) :: adamw_steps
  type(optimizer_settings) :: settings
  type(scaling_policy) :: policy
  type(loss_scaler) :: scaler
  type(step_record) :: record
  integer :: i, round

  call device%create()
  print '(2a)', "device: ", device%device_name()
  call model%create(device, int(4 * points**2, int64))
  call gradients%create(device, int(2 * points**2, int64))
  weights = 0
  call model%upload(weights)

  settings = default_settings(adamw)
  settings%lr = 5e-3_real64
  settings%weight_decay = 0
  call adamw_steps%create(device, [parameter_tensor(count=points**2, gradient=gradients%address(), &
    model=model%address(), gradient_type=float16, name="jump")], [settings])
  policy = scaling_preset("syclamp")
  policy%init_scale = 2.0_real64**24  ! too large: the first steps are skipped until the gradients fit into FP16
  policy%growth_interval = 100
  call scaler%create(device, policy)

  call heat_rods(now)
  do round = 1, rounds
    ! The simulation.
    later = now
    do i = 1, jump
      call advance(later)
    end do

    ! The surrogate: forward and backward pass on the host, with the scale of this step.
    call scaler%begin_step()
    scale = scaler%get_scale()
    call model%download(weights)
    call backward(now, later, weights, scale, loss, gradient)
    if (round == 1) first_loss = loss
    if (mod(round, 200) == 1) print '(a,i4,a,es9.2,a,es9.2)', "round", round, ": loss", loss, ", scale", scale

    ! FP16 bits travel as integer(int16).
    call gradients%upload(round_to_bits(reshape(gradient, [points**2])))
    call scaler%step(adamw_steps, max_norm=1.0_real32)
    call scaler%update()

    now = later
    if (mod(round, 3) == 0) call heat_rods(now)  ! the rods have become cold
  end do

  ! The surrogate's jump from states that it has not seen.
  call heat_rods(now)
  later = now
  do i = 1, jump
    call advance(later)
  end do
  call model%download(weights)
  call backward(now, later, weights, 1.0_real32, loss, gradient)
  call scaler%outcome(record)
  print '(a,es9.2,a,es9.2)', "loss ", first_loss, " -> ", loss
  print '(3(a,i0),a)', "ledger: ", record%step, " steps, ", record%applied, " applied, ", record%skipped, " skipped"
  if (loss > 0.01_real32 * first_loss .or. record%skipped == 0) error stop 1

contains

  ! One time step of all rods.
  subroutine advance(u)
    real(real32), intent(inout) :: u(:, :)
    real(real32) :: old(0:size(u, 1) + 1)
    integer :: rod
    do rod = 1, size(u, 2)
      old = 0
      old(1:size(u, 1)) = u(:, rod)
      u(:, rod) = u(:, rod) + number * (old(0:size(u, 1) - 1) - 2 * old(1:size(u, 1)) + old(2:size(u, 1) + 1))
    end do
  end subroutine

  ! Random temperatures from 0 to 1, the same on every machine.
  subroutine heat_rods(u)
    real(real32), intent(out) :: u(:, :)
    integer(int64), save :: state = 20
    integer :: i, rod
    do rod = 1, size(u, 2)
      do i = 1, size(u, 1)
        state = mod(state * 16807_int64, 2147483647_int64)
        u(i, rod) = real(state, real32) / 2147483647.0_real32
      end do
    end do
  end subroutine

  ! The mean squared error of the surrogate's jump, and its gradient times the scale.
  subroutine backward(from, to, map, factor, error, derivative)
    real(real32), intent(in) :: from(:, :), to(:, :), map(:, :), factor
    real(real32), intent(out) :: error, derivative(:, :)
    real(real32) :: difference(size(to, 1), size(to, 2))
    difference = matmul(map, from) - to
    error = sum(difference**2) / size(difference)
    derivative = matmul(difference, transpose(from)) * (2 * factor / size(difference))
  end subroutine
end program
