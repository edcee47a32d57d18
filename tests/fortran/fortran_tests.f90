! SPDX-License-Identifier: Apache-2.0
! The Fortran interface: objects, assignment, errors, and a training step whose numbers are exact.
!   fortran_tests          runs all checks
!   fortran_tests stop     makes an error without stat, which must end the program with its message
module holders
  use syclamp
  implicit none
  type :: holder  ! a type of the user's own
    type(engine) :: device
    integer :: number = 0
  end type
contains
  subroutine copy_engine(to, from)
    type(engine), intent(inout) :: to
    type(engine), intent(in) :: from
    to = from
  end subroutine
  subroutine renew(device)
    type(engine), intent(out) :: device  ! finalized at the call
    call device%create()
  end subroutine
end module

module recorded_training
  use, intrinsic :: iso_c_binding
  use syclamp
  implicit none
  type :: training
    type(loss_scaler) :: scaler
    type(optimizer) :: descent
  end type
contains
  integer(c_int32_t) function make_step(user) bind(c) result(failed)
    type(c_ptr), value :: user
    type(training), pointer :: run
    integer :: stat
    call c_f_pointer(user, run)
    failed = 1
    call run%scaler%begin_step(stat=stat)
    if (stat /= syclamp_ok) return
    call run%scaler%step(run%descent, stat=stat)
    if (stat /= syclamp_ok) return
    call run%scaler%update(stat=stat)
    if (stat == syclamp_ok) failed = 0
  end function
end module

program fortran_tests
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  use call_tests
  use checks
  use error_tests
  use holders
  use operation_tests
  use recorded_training
  use scale_tests
  use syclamp
  implicit none
  character(16) :: mode
  call get_command_argument(1, mode)
  if (mode == "stop") call stop_with_message()
  call test_assignment()
  call test_errors()
  call test_functions_that_fail()
  call test_tensors()
  call test_memory()
  call test_groups_and_storage()
  call test_training()
  call test_operations()
  call test_own_optimizer()
  call test_scales()
  call test_ranks()
  call test_accumulation()
  call test_resume()
  call test_states()
  call test_recorded_steps()
  call check(syclamp_live_count() == 0, "all objects are released by finalization")
  if (failures > 0) error stop 1
  print '(a)', "all checks passed"

contains

  subroutine stop_with_message()
    type(loss_scaler) :: scaler
    call scaler%update()
  end subroutine

  subroutine test_assignment()
    type(engine) :: first, second, many(2)
    type(engine), allocatable :: short_lived
    type(holder) :: one, two
    integer(c_size_t) :: live
    call check(.not. first%is_valid(), "an object is empty before create")
    call first%create()
    live = syclamp_live_count()
    first = first
    call check(first%is_valid() .and. syclamp_live_count() == live, "assignment to itself changes nothing")
    call second%create()
    call copy_engine(second, first)
    call check(syclamp_live_count() == live + 1, "assignment releases the object on the left")
    call first%destroy()
    call second%wait()
    call check(.not. first%is_valid() .and. second%is_valid(), "a copy outlives its original")
    many = second
    many = [second, second]
    call many(2)%wait()
    call check(syclamp_live_count() == live + 2, "arrays own one handle per element")
    allocate (short_lived)
    short_lived = second
    deallocate (short_lived)
    call check(syclamp_live_count() == live + 2, "deallocation releases")
    call renew(second)
    call second%wait()
    one%device = second
    two = one
    call second%wait()
    call one%device%wait()
    call check(len(one%device%device_name()) > 0, "an engine has a name")
  end subroutine

  subroutine test_errors()
    type(engine) :: device
    type(loss_scaler) :: scaler
    type(device_memory) :: memory
    integer :: stat
    character(200) :: message
    type(engine_statistics) :: counters
    integer(int64) :: waits
    message = "unchanged"
    call device%create(stat=stat, errmsg=message)
    call check(stat == syclamp_ok .and. message == "unchanged", "success leaves errmsg alone")
    call device%create(device="no such device", stat=stat, errmsg=message)
    call check(stat == syclamp_no_device .and. index(message, "no such device") > 0, "an unknown device is refused")
    call check(device%is_valid(), "after an error the object is unchanged")
    call scaler%update(stat=stat)
    call check(stat == syclamp_invalid_handle, "an empty object is refused")
    call scaler%create(device)
    call scaler%update(stat=stat, errmsg=message)
    call check(stat == syclamp_misuse .and. index(message, "syclamp_scaler_update") == 1, "wrong order is refused")
    call memory%create(device, 8_int64)
    call memory%upload([1.0_real32, 2.0_real32, 3.0_real32], stat, message)
    call check(stat == syclamp_invalid_argument, "an upload must fit")
    call memory%create(device, -1_int64, stat=stat)
    call check(stat == syclamp_out_of_memory .and. memory%bytes() == 8, "an absurd size is refused")
    call check(index(syclamp_last_error_text(), "syclamp_memory_allocate") == 1, "the last error can be read")
    counters = device%statistics()
    call device%wait()
    waits = counters%waits
    counters = device%statistics()
    call check(counters%waits == waits + 1, "waits are counted")
  end subroutine

  subroutine test_tensors()
    type(engine) :: device
    type(device_memory) :: values, halves, view
    type(tensor_list) :: list, half_list
    type(tensor_list_info) :: info
    type(inspector) :: look
    type(inspection) :: found
    type(unscaled_gradients) :: gradients
    real(real32) :: read(2, 2)
    integer(int16) :: bits(4)
    call device%create()
    call values%create(device, 16_int64)
    call halves%create(device, 8_int64)
    view = values
    call view%upload(reshape([3.0_real32, 0.0_real32, -4.0_real32, 0.0_real32], [2, 2]))
    call list%create(device, [tensor(address=values%address(), count=4, name="values")])
    call half_list%create(device, [tensor(address=halves%address(), count=4, type=float16)])
    info = list%describe()
    call check(info%tensors == 1 .and. info%elements == 4, "sizes of a list")
    call look%create(list, inspect_tensors)
    call look%run()
    call look%result(found)
    call check(found%norm_l2 == 5.0_real64 .and. found%zero_count == 2 .and. found%flags == 0, "an inspection")
    call look%tensor_result(1, found)
    call check(found%amax == 4.0_real32 .and. found%first_nonfinite == -1, "an inspection of a tensor")
    call cast(list, half_list)
    call halves%download(bits)
    call check(all(bits == round_to_bits([3.0_real32, 0.0_real32, -4.0_real32, 0.0_real32])), "cast and host rounding agree")
    call check(all(widen_bits(bits) == [3.0_real32, 0.0_real32, -4.0_real32, 0.0_real32]), "bits are widened exactly")
    call check(bits(1) == int(z"4200", int16), "3 in FP16")
    call unscale(half_list, list, 2.0_real32)
    call scale_list(list, list, 4.0_real32)
    call accumulate(half_list, list, 1.0_real32)
    call values%download(read)
    call check(all(read == reshape([9.0_real32, 0.0_real32, -12.0_real32, 0.0_real32], [2, 2])), "unscale, scale, accumulate")
    call gradients%create(list)
    call clip_by_value(gradients, 10.0_real32)
    call values%download(read)
    call check(read(1, 2) == -10.0_real32, "clip by value")
    call look%run()
    call clip(look, gradients, 1.0_real32, norm_l_infinity)
    call values%download(read)
    call check(abs(read(1, 2) + 1) < 1e-6_real32, "clip by a norm")
    call list%set_addresses([c_null_ptr])
    call clear(list)
    call values%download(read)
    call check(read(1, 2) /= 0, "an absent tensor is not written")
  end subroutine

  subroutine test_training()
    character(*), parameter :: file = "fortran_tests.ckpt"
    type(engine) :: device
    type(device_memory) :: model, gradient
    type(optimizer) :: steps(1)
    type(loss_scaler) :: scaler, other
    type(scaling_policy) :: policy
    type(step_record) :: record
    type(step_record), allocatable :: ledger(:)
    type(optimizer_progress) :: progress
    type(tensor_list) :: list
    character(:), allocatable :: text, notes
    real(real32) :: weights(2)
    integer :: unit
    call device%create()
    call model%create(device, 8_int64)
    call gradient%create(device, 4_int64)
    call model%upload([1.0_real32, 1.0_real32])
    call steps(1)%create(device, [parameter_tensor(count=2, gradient=gradient%address(), model=model%address(), &
      gradient_type=float16, name="weights")], [default_settings(sgd)])
    call steps(1)%set_lr(0.5_real64)
    call check(steps(1)%get_lr() == 0.5_real64, "a learning rate")
    policy = scaling_preset("pytorch")
    policy%init_scale = 1024
    call scaler%create(device, policy)
    call scaler%begin_step()
    call gradient%upload(round_to_bits([1024.0_real32, -2048.0_real32]))
    call scaler%step(steps(1))
    call scaler%update()
    call steps(1)%weights(1, weights)
    call check(all(weights == [0.5_real32, 2.0_real32]), "a step unscales and applies")
    call scaler%begin_step()
    call gradient%upload([int(z"7c00", int16), 0_int16])
    call scaler%step_jointly(steps, max_norm=1.0_real32)
    call scaler%update()
    call scaler%outcome(record)
    call check(record%outcome == outcome_skipped_inf .and. outcome_name(record%outcome) == "skipped_inf", "Inf is skipped")
    call check(scaler%get_scale() == 512.0_real32 .and. steps(1)%steps() == 1, "the scale backs off")
    progress = steps(1)%progress()
    call check(progress%finished == 2 .and. progress%applied == 1 .and. progress%last_was_applied == 0, "progress")
    call scaler%records(ledger)
    call check(size(ledger) == 2 .and. ledger(1)%step == 1 .and. ledger(2)%first_nonfinite == 0, "records of the ledger")
    call scaler%ledger_text(text)
    call check(index(text, "skipped_inf") > 0, "the ledger as text")
    call scaler%get_state(text)
    call other%create(device, policy)
    call other%set_state(text)
    call check(other%get_scale() == 512.0_real32, "a state is loaded")
    call save_checkpoint(file, steps, scaler, "round 2")
    call model%upload([7.0_real32, 7.0_real32])
    call load_checkpoint(file, steps, other, notes)
    call model%download(weights)
    call check(notes == "round 2" .and. all(weights == [0.5_real32, 2.0_real32]), "a checkpoint is loaded")
    open (newunit=unit, file=file)
    close (unit, status="delete")
    call steps(1)%gradients(list)
    call steps(1)%zero_gradients()
    call steps(1)%set_schedule(lr_schedule(kind=lr_cosine, steps=10))
    policy = scaler%get_policy()
    policy%growth_interval = 7
    call scaler%set_policy(policy)
    call scaler%begin_step()
    call scaler%step(steps(1))
    call scaler%update(new_scale=64.0_real32)
    call check(scaler%get_scale() == 64.0_real32, "the scale can be set")
  end subroutine

  subroutine test_states()
    character(*), parameter :: file = "fortran_tests.json"
    character(*), parameter :: saved = '{"scale": 1024.0, "growth_factor": 2.0, "backoff_factor": 0.5,' // &
      ' "growth_interval": 3, "_growth_tracker": 2}'
    type(engine) :: device
    type(device_memory) :: gradient
    type(loss_scaler) :: scaler, other
    type(tensor_list) :: list
    type(optimizer) :: descent
    type(unscaled_gradients) :: unscaled
    type(device_memory) :: model
    real(real32) :: read(2)
    type(replay_report) :: report
    type(scaling_policy) :: policy
    character(:), allocatable :: text
    character(200) :: message
    integer :: stat, unit
    call device%create()
    call gradient%create(device, 8_int64)
    call model%create(device, 8_int64)
    call gradient%upload([512.0_real32, 0.0_real32])
    call descent%create(device, [parameter_tensor(count=2, gradient=gradient%address(), model=model%address())], &
      [default_settings(sgd)])
    call list%create(device, [tensor(address=gradient%address(), count=2)])
    call scaler%create(device, scaling_preset("pytorch"))
    call set_framework_state(scaler, "pytorch", saved)
    call check(scaler%get_scale() == 1024.0_real32, "PyTorch's state is loaded")
    call scaler%begin_step()
    call scaler%accumulate(list, list, stat=stat)  ! a list cannot be its own sum
    call check(stat /= syclamp_ok, "an accumulation into the same list is refused")
    call set_framework_state(scaler, "pytorch", saved, stat)
    call check(stat == syclamp_misuse, "a state is not loaded inside a step")
    call scaler%unscale(descent, unscaled)
    call clip_by_value(unscaled, 0.25_real32)
    call gradient%download(read)
    call check(all(read == [0.25_real32, 0.0_real32]), "gradients are unscaled and clipped before the step")
    call scaler%step(descent)
    call scaler%update()
    call check(scaler%get_scale() == 2048.0_real32, "the scale grows as PyTorch's would")
    call set_framework_state(scaler, "pytorch", "{}", stat, message)
    call check(stat == syclamp_invalid_argument .and. index(message, "scale") > 0, "an incomplete state is refused")
    call get_framework_state(scaler, "caffe", text, stat)
    call check(stat == syclamp_invalid_argument, "an unknown framework is refused")
    call get_framework_state(scaler, "pytorch", text)
    call check(index(text, "_growth_tracker") > 0 .and. index(text, "2048") > 0, "PyTorch's state is written")
    call save_state(scaler, file)
    call other%create(device, scaling_preset("pytorch"))
    call load_state(other, file)
    call check(other%get_scale() == 2048.0_real32, "a state is loaded from a file")
    open (newunit=unit, file=file)
    close (unit, status="delete")
    call load_state(other, file, stat, message)
    call check(stat == syclamp_file_error .and. index(message, file) > 0, "a missing file is reported")
    call scaler%ledger_text(text)
    policy = scaling_preset()
    policy%init_scale = 2.0_real64**18
    call replay_ledger(text, policy, report)
    ! The largest gradient is 0.5, which overflows at 2^18.
    call check(report%steps == 1 .and. report%skips == 1 .and. report%final_scale == 2.0_real32**17, "a ledger is replayed")
    call check(report%zero_share == 0.5_real64 .and. report%max_safe_scale == 2.0_real32**16, "figures of a replay")
    call replay_ledger("no ledger", policy, report, stat)
    call check(stat == syclamp_invalid_argument, "another text is refused")
  end subroutine

  subroutine test_recorded_steps()
    type(engine) :: device
    type(device_memory) :: model, gradient
    type(training), target :: run
    type(recorded_step) :: step
    type(spike_guard) :: guard
    type(tensor_list) :: list
    type(step_record) :: record
    real(real32) :: weights(2)
    integer :: stat, i
    call device%create()
    call model%create(device, 8_int64)
    call gradient%create(device, 8_int64)
    call model%upload([1.0_real32, 1.0_real32])
    call gradient%upload([65536.0_real32, 0.0_real32])
    call run%descent%create(device, [parameter_tensor(count=2, gradient=gradient%address(), model=model%address())], &
      [default_settings(sgd)])
    call run%descent%set_lr(0.5_real64)
    call run%scaler%create(device)
    call step%run(stat=stat)
    call check(stat == syclamp_invalid_handle, "an empty recorded step is refused")
    call step%create(device, make_step, c_loc(run), mode=7, stat=stat)
    call check(stat == syclamp_invalid_argument .and. .not. step%is_valid(), "an unknown mode is refused")
    call run%descent%gradients(list)
    call run%scaler%prepare(list)
    do i = record_if_possible, record_never
      call step%create(device, make_step, c_loc(run), mode=i)
      call check(i == record_if_possible .or. .not. step%is_recorded(), "without a graph, each run makes the calls")
      call step%run()
      call step%run()
      call model%download(weights)
      call check(all(weights == [-real(i, real32), 1.0_real32]), "two recorded steps")
    end do
    call guard%create(device, threshold=-1.0_real32, stat=stat)
    call check(stat == syclamp_invalid_argument, "a negative threshold is refused")
    call guard%create(device, threshold=4.0_real32, window=2)
    do i = 1, 4
      call guard%check(gradient%address(), run%scaler)
      call step%run()
    end do
    call gradient%upload([ieee_nan(), 0.0_real32])
    call guard%check(gradient%address(), run%scaler)
    call gradient%upload([65536.0_real32, 0.0_real32])
    call step%run()
    call run%scaler%outcome(record)
    call check(record%outcome == outcome_skipped_by_user, "a loss that is not a number skips the step")
    call guard%check(c_null_ptr, run%scaler, stat)
    call check(stat == syclamp_invalid_argument, "a null address is refused")
  end subroutine

  real(real32) function ieee_nan()
    use, intrinsic :: ieee_arithmetic
    ieee_nan = ieee_value(1.0_real32, ieee_quiet_nan)
  end function
end program
