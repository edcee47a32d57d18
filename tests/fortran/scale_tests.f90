! SPDX-License-Identifier: Apache-2.0
! Several scales, and two ranks that decide together. All numbers are exact.
module rank_sums
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  use syclamp
  implicit none
  type :: rank_data
    type(engine) :: device
    real(real32), allocatable :: of_this_rank(:), of_other_rank(:)
    logical :: has_failed = .false.
  end type
contains
  subroutine all_reduce(values, run, stat)  ! stands for MPI_Allreduce
    real(real32), intent(inout) :: values(:)
    type(rank_data), intent(inout) :: run
    integer, intent(out) :: stat
    stat = merge(70, 0, run%has_failed)
    run%of_this_rank = values
    if (allocated(run%of_other_rank)) values = values + run%of_other_rank
  end subroutine

  integer(c_int32_t) function sum_over_ranks(user, device_numbers, count) bind(c) result(failed)
    type(c_ptr), value :: user, device_numbers
    integer(c_size_t), value :: count
    type(rank_data), pointer :: run
    type(device_memory) :: numbers
    real(real32) :: values(count)
    integer :: stat
    call c_f_pointer(user, run)
    call numbers%view(run%device, device_numbers, 4_int64 * count, stat)
    if (stat == 0) call numbers%download(values, stat)
    if (stat == 0) call all_reduce(values, run, stat)  ! MPI_Allreduce(MPI_IN_PLACE, values, ..., MPI_SUM, ...)
    if (stat == 0) call numbers%upload(values, stat)
    failed = stat
  end function
end module

module scale_tests
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  use, intrinsic :: ieee_arithmetic
  use checks
  use rank_sums
  use syclamp
  implicit none
  private
  public :: test_scales, test_ranks

contains

  subroutine test_scales()
    type(engine) :: device
    type(device_memory) :: model, gradient
    type(optimizer) :: descent
    type(scaling_policy) :: policy
    type(scaler_options) :: options
    type(loss_scaler) :: scaler
    type(step_record) :: record
    type(step_record), allocatable :: ledger(:)
    real(real32) :: weights(2)
    integer :: stat
    character(200) :: message
    call device%create()
    call model%create(device, 8_int64)
    call gradient%create(device, 8_int64)
    call model%upload([1.0_real32, 1.0_real32])
    call descent%create(device, [parameter_tensor(count=1, gradient=gradient%address(), model=model%address()), &
      parameter_tensor(count=1, gradient=gradient%address(4_int64), model=model%address(4_int64), group=1)], &
      [default_settings(sgd), default_settings(sgd)])
    call descent%set_lr(0.5_real64)
    policy = scaling_preset()
    policy%init_scale = 1024
    policy%min = 1024
    options%scales = 2
    options%skip_separately = 1
    call scaler%create(device, policy, options)
    call scaler%begin_step()
    call gradient%upload([ieee_value(1.0_real32, ieee_positive_inf), 1024.0_real32])
    call scaler%step(descent)
    call scaler%update(new_scale=4096.0_real32)
    call check(scaler%get_scale() == 4096 .and. scaler%get_scale(1) == 4096, "update sets all scales")
    call scaler%begin_step()
    call gradient%upload([ieee_value(1.0_real32, ieee_positive_inf), 4096.0_real32])
    call scaler%step(descent)
    call scaler%update()
    call check(scaler%get_scale() == 2048 .and. scaler%get_scale(group=1) == 4096, "each group has its scale")
    call model%download(weights)
    call check(all(weights == [1, 0]), "an overflow skips only its own group")
    call scaler%outcome(record)
    call check(record%outcome == outcome_skipped_inf .and. record%scale_index == 0 .and. record%status == status_ok, &
      "the record of group 0")
    call scaler%outcome(record, group=1)
    call check(record%outcome == outcome_applied .and. record%scale_index == 1 .and. record%scale == 4096, "the record of group 1")
    call scaler%records(ledger)
    call check(size(ledger) == 4 .and. all(ledger%scale_index == [0, 1, 0, 1]), "the ledger has a record per scale")
    call scaler%outcome(record, 2, stat, message)
    call check(stat == syclamp_invalid_argument .and. index(message, "2") > 0, "a record of a scale that does not exist")
    call check(scaler%get_scale(2, stat) == 0 .and. stat == syclamp_invalid_argument, "a scale that does not exist")

    call scaler%create(device, policy)
    call scaler%begin_step()
    call gradient%upload([ieee_value(1.0_real32, ieee_positive_inf), 1.0_real32])
    call scaler%step(descent)
    call scaler%update()
    call scaler%outcome(record)
    call check(record%status == status_at_floor .and. status_name(record%status) == "at_floor", "an overflow at the lowest scale")
  end subroutine

  ! Rank 0 runs first and leaves its numbers to rank 1. The norm covers both ranks, and the replicated tensor once.
  subroutine test_ranks()
    type(rank_data), target :: ranks(0:1)
    type(engine) :: device
    type(device_memory) :: model(0:1), gradient(0:1)
    type(optimizer) :: descent(0:1)
    type(scaler_options) :: options
    type(scaling_policy) :: policy
    type(loss_scaler) :: scaler(0:1)
    type(step_record) :: record
    real(real32), parameter :: part(0:1) = [3.0_real32, 12.0_real32]
    real(real32) :: weights(2), values(2)
    integer :: rank, step, stat
    character(200) :: message
    call device%create()
    policy = scaling_preset()
    policy%init_scale = 1024
    do rank = 0, 1
      call model(rank)%create(device, 8_int64)
      call gradient(rank)%create(device, 8_int64)
      call model(rank)%upload([1.0_real32, 1.0_real32])
      call descent(rank)%create(device, [ &
        parameter_tensor(count=1, gradient=gradient(rank)%address(), model=model(rank)%address(), name="part of this rank"), &
        parameter_tensor(count=1, gradient=gradient(rank)%address(4_int64), model=model(rank)%address(4_int64), &
          name="same on all ranks", replicated=.true.)], [default_settings(sgd)])
      call descent(rank)%set_lr(1.0_real64)
      ranks(rank)%device = device
      options%rank = rank
      options%ranks = size(ranks)
      options%consensus_sum = c_funloc(sum_over_ranks)
      options%consensus_user = c_loc(ranks(rank))
      call scaler(rank)%create(device, policy, options)
    end do
    do step = 1, 2
      do rank = 0, 1
        call scaler(rank)%begin_step()
        values = 1024 * [part(rank), 4.0_real32]
        if (step == 2 .and. rank == 0) values(1) = ieee_value(1.0_real32, ieee_positive_inf)
        call gradient(rank)%upload(values)
        if (rank == 1) ranks(1)%of_other_rank = ranks(0)%of_this_rank
        call scaler(rank)%step(descent(rank))
        call scaler(rank)%update()
      end do
      call scaler(1)%outcome(record)
      call model(1)%download(weights)
      call check(all(weights == 1 - [part(1), 4.0_real32]), "only the first step is applied")
      if (step == 1) then
        call check(record%outcome == outcome_applied .and. record%norm == 13, "the norm of both ranks")
      else
        call check(record%outcome == outcome_skipped_inf .and. scaler(1)%get_scale() == 512, &
          "an overflow of rank 0 skips the step of rank 1")
      end if
    end do
    ranks(1)%has_failed = .true.
    call scaler(1)%begin_step()
    call scaler(1)%step(descent(1), stat=stat, errmsg=message)
    call check(stat == syclamp_callback_failed .and. index(message, "returned 70") > 0, "a failure of the sum is reported")
  end subroutine
end module
