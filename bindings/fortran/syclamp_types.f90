! SPDX-License-Identifier: Apache-2.0
! Constants and structs of the C interface (include/syclamp/c/), with the same names and the same layout.
module syclamp_types
  use, intrinsic :: iso_c_binding
  implicit none
  public

  ! Status codes: values of `stat`.
  integer(c_int32_t), parameter :: syclamp_ok = 0, syclamp_invalid_handle = 1, syclamp_invalid_argument = 2, &
    syclamp_misuse = 3, syclamp_no_device = 4, syclamp_device_fault = 5, syclamp_out_of_memory = 6, &
    syclamp_file_error = 7, syclamp_kernel_build = 8, syclamp_callback_failed = 9, syclamp_internal_error = 10

  ! Element types.
  integer(c_int32_t), parameter :: float16 = 0, bfloat16 = 1, float32 = 2, float64 = 3, float8_e4m3 = 4, float8_e5m2 = 5

  ! Kinds of memory, levels of an inspection, kinds of norms.
  integer(c_int32_t), parameter :: device_kind = 0, shared_kind = 1, host_kind = 2
  integer(c_int32_t), parameter :: inspect_list = 0, inspect_tensors = 1, inspect_histogram = 2
  integer(c_int32_t), parameter :: norm_l2 = 0, norm_l1 = 1, norm_l_infinity = 2

  ! Kinds of optimizers, shapes of learning-rate schedules, all groups.
  integer(c_int32_t), parameter :: sgd = 0, adam = 1, adamw = 2, lion = 3, adagrad = 4, rmsprop = 5, lamb = 6, &
    novograd = 7, adadelta = 8
  integer(c_int32_t), parameter :: lr_constant = 0, lr_cosine = 1, lr_decay = 2
  integer(c_int32_t), parameter :: all_groups = -1  ! UINT32_MAX

  ! Outcomes of a step; the names are those of `outcome_name`.
  integer(c_int32_t), parameter :: outcome_applied = 0, outcome_skipped_inf = 1, outcome_skipped_nan = 2, &
    outcome_skipped_scale_held = 3, outcome_stopped = 4, outcome_skipped_by_user = 5, outcome_norm_overflow = 6, &
    outcome_skipped_jointly = 7, outcome_accumulated = 8, outcome_no_gradients = 9, outcome_invalid_number = 10

  ! Warnings about a step: values of step_record%status; the names are those of `status_name`.
  integer(c_int32_t), parameter :: status_ok = 0, status_at_floor = 1, status_nan_persistent = 2, &
    status_too_many_skips = 3, status_norm_overflow = 4, status_stopped = 5, status_invalid_number = 6

  ! Formats of a ledger, modes of a policy, actions of a policy that gives up.
  integer(c_int32_t), parameter :: ledger_csv = 0, ledger_json_lines = 1
  integer(c_int32_t), parameter :: scaling_dynamic = 0, scaling_fixed = 1, scaling_disabled = 2
  integer(c_int32_t), parameter :: record_if_possible = 0, record_never = 1  ! modes of a recorded step
  integer(c_int32_t), parameter :: give_up_keep = 0, give_up_hold = 1, give_up_stop = 2

  ! Fields `rounding`: how casts and storage round.
  integer(c_int32_t), parameter :: round_to_nearest = 0, round_stochastic = 1

  type, bind(c) :: c_device_info
    integer(c_size_t) :: struct_size = 0
    character(kind=c_char) :: name(128) = c_null_char, vendor(128) = c_null_char, driver(128) = c_null_char
    character(kind=c_char) :: profile(32) = c_null_char, problem(256) = c_null_char
    integer(c_int64_t) :: global_memory_bytes = 0
    integer(c_int32_t) :: compute_units = 0, is_gpu = 0, is_cpu = 0, usable = 0
    character(kind=c_char) :: platform(128) = c_null_char, profile_note(256) = c_null_char
    integer(c_int32_t) :: is_accelerator = 0, has_fp16 = 0, has_fp64 = 0, reserved = 0
  end type

  type, bind(c) :: engine_options
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: device = c_null_ptr, queue = c_null_ptr, profile = c_null_ptr
  end type

  type, bind(c) :: engine_statistics
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: kernels_submitted = 0, waits = 0
  end type

  type, bind(c) :: c_tensor
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: address = c_null_ptr
    integer(c_int64_t) :: count = 0
    integer(c_int32_t) :: type = float32, group = 0
    type(c_ptr) :: name = c_null_ptr
    integer(c_int32_t) :: replicated = 0, read_only = 0
  end type

  type, bind(c) :: tensor_list_info
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: tensors = 0, elements = 0
    integer(c_int32_t) :: groups = 0, reserved = 0
  end type

  type, bind(c) :: inspection
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: elements = 0, inf_count = 0, nan_count = 0, zero_count = 0, subnormal_count = 0
    integer(c_int64_t) :: first_nonfinite_tensor = -1, first_nonfinite = -1  ! from 0; -1: every element is finite
    real(c_double) :: norm_l2 = 0, norm_l1 = 0, headroom = 0
    real(c_float) :: amax = 0, unscaled_amax = 0, scale = 1
    integer(c_int32_t) :: flags = 0  ! 1: Inf, 2: NaN, 3: both
  end type

  type, bind(c) :: scaling_policy
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: mode = 0, growth_mode = 0
    real(c_double) :: init_scale = 0, growth_factor = 0, backoff_factor = 0, min = 0, max = 0
    integer(c_int32_t) :: growth_interval = 0, power_of_two = 0, hysteresis = 0, hysteresis_mode = 0
    real(c_double) :: tolerance = 0, amax_limit = 0
    integer(c_int32_t) :: margin = 0, max_jump = 0, nan_patience = 0, give_up_after = 0, on_give_up = 0, on_floor = 0
    real(c_double) :: spike_threshold = 0
    integer(c_int32_t) :: spike_window = 0, retries = 0, clear_on_skip = 0, replay_growth_test = 0, replay_bounds = 0
    integer(c_int32_t) :: replay_arithmetic = 0, replay_backoff_by_growth = 0, replay_one_step_late = 0
  end type

  type, bind(c) :: step_record
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: step = 0, applied = 0, skipped = 0
    integer(c_int64_t) :: elements = 0, inf_count = 0, nan_count = 0, zero_count = 0, subnormal_count = 0
    integer(c_int64_t) :: first_nonfinite_tensor = -1, first_nonfinite = -1  ! from 0; -1: every element is finite
    real(c_double) :: headroom = 0
    integer(c_int32_t) :: outcome = 0, status = 0, first_nonfinite_list = 0, scale_index = 0, flags = 0
    integer(c_int32_t) :: skips_in_a_row = 0, retry = 0, lists = 0, skipped_lists = 0
    real(c_float) :: scale = 1, next_scale = 1, norm = 0, clip = 1, amax = 0, amax_limit = 0
    integer(c_int32_t) :: reserved = 0
    character(kind=c_char) :: first_nonfinite_name(64) = c_null_char
  end type

  type, bind(c) :: scaler_options
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: scales = 0, skip_separately = 0, ledger = 0, rank = 0, ranks = 0, reserved = 0
    type(c_funptr) :: consensus_sum = c_null_funptr
    type(c_ptr) :: consensus_user = c_null_ptr
  end type

  type, bind(c) :: replay_report
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: steps = 0, skips = 0, recorded_skips = 0
    real(c_double) :: zero_share = 0, subnormal_share = 0
    real(c_float) :: final_scale = 0, max_safe_scale = 0
  end type

  type, bind(c) :: spike_guard_options
    integer(c_size_t) :: struct_size = 0
    real(c_float) :: threshold = 0
    integer(c_int32_t) :: window = 0
  end type

  type, bind(c) :: cast_options
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: rounding = round_to_nearest, saturate = 0, divide = 0, reserved = 0
    integer(c_int64_t) :: seed = 0
    type(c_ptr) :: device_saturated = c_null_ptr, device_scales = c_null_ptr, device_step = c_null_ptr
  end type

  ! The decision on a step: the gradient g becomes g * unscale_first * unscale_second * clip, or nothing if apply is 0.
  type, bind(c) :: step_decision
    integer(c_int32_t) :: apply = 0
    real(c_float) :: unscale_first = 0, unscale_second = 0, clip = 0
  end type

  type, bind(c) :: optimizer_info
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: parameters = 0, device_bytes = 0
    integer(c_int32_t) :: groups = 0, states = 0
  end type

  type, bind(c) :: step_options
    integer(c_size_t) :: struct_size = 0
    real(c_float) :: max_norm = 0
    integer(c_int32_t) :: clip = 0
    type(c_ptr) :: device_max_norm = c_null_ptr
    integer(c_int32_t) :: clip_separately = 0, reserved = 0
  end type

  type, bind(c) :: optimizer_settings
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: kind = 0, maximize = 0
    real(c_double) :: lr = 0, beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0, momentum = 0, dampening = 0, alpha = 0
    real(c_double) :: rho = 0, lr_decay = 0, initial_accumulator_value = 0
    integer(c_int32_t) :: nesterov = 0, amsgrad = 0, centered = 0, reserved = 0
  end type

  type, bind(c) :: c_parameter
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: count = 0
    type(c_ptr) :: gradient = c_null_ptr, model = c_null_ptr, master = c_null_ptr
    type(c_ptr) :: states(3) = c_null_ptr
    integer(c_int32_t) :: gradient_type = float32, model_type = float32
    type(c_ptr) :: name = c_null_ptr
    integer(c_int32_t) :: group = 0, replicated = 0
  end type

  type, bind(c) :: storage_options
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: bfloat16_moments = 0, remainders = 0, rounding = 0, unscaled_shadow = 0
    integer(c_int64_t) :: seed = 0
  end type

  type, bind(c) :: lr_schedule
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: kind = lr_constant
    real(c_float) :: gamma = 0.1, lowest = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: warm_up = 0, steps = 1
  end type

  type, bind(c) :: optimizer_progress
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: finished = 0, applied = 0
    integer(c_int32_t) :: last_was_applied = 0, reserved = 0
  end type
end module
