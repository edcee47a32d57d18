! SPDX-License-Identifier: Apache-2.0
! Functions of the C interface: policies, scalers, optimizers, checkpoints. The C headers describe them.
module syclamp_training_calls
  use, intrinsic :: iso_c_binding
  use syclamp_types
  implicit none
  public

  interface
    function syclamp_policy_preset(name, policy) bind(c) result(status)
      import
      type(c_ptr), value :: name
      type(scaling_policy), intent(inout) :: policy
      integer(c_int32_t) :: status
    end function
    function syclamp_policy_validate(policy) bind(c) result(status)
      import
      type(scaling_policy), intent(inout) :: policy
      integer(c_int32_t) :: status
    end function
    function syclamp_step_outcome_name(outcome) bind(c) result(status)
      import
      integer(c_int32_t), value :: outcome
      type(c_ptr) :: status
    end function
    function syclamp_step_status_name(status) bind(c) result(name)
      import
      integer(c_int32_t), value :: status
      type(c_ptr) :: name
    end function
    function syclamp_scaler_create(engine, policy, options, scaler) bind(c) result(status)
      import
      type(c_ptr), value :: engine, policy
      type(scaler_options), intent(in) :: options
      type(c_ptr), intent(inout) :: scaler
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_begin_step(scaler, device_scale) bind(c) result(status)
      import
      type(c_ptr), value :: scaler
      type(c_ptr), intent(inout) :: device_scale
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_scale(scaler, loss, scaled) bind(c) result(status)
      import
      type(c_ptr), value :: scaler, loss, scaled
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_unscale(scaler, optimizer, options, unscaled) bind(c) result(status)
      import
      type(c_ptr), value :: scaler, optimizer, unscaled
      type(step_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_unscale_list(scaler, gradients, out, options, unscaled) bind(c) result(status)
      import
      type(c_ptr), value :: scaler, gradients, out, unscaled
      type(step_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_inspect(scaler, gradients, options, device_decisions) bind(c) result(status)
      import
      type(c_ptr), value :: scaler, gradients
      type(step_options), intent(in) :: options
      type(c_ptr), intent(inout) :: device_decisions
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_step(scaler, optimizer, options) bind(c) result(status)
      import
      type(c_ptr), value :: scaler, optimizer
      type(step_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_step_jointly(scaler, optimizers, count, options) bind(c) result(status)
      import
      type(c_ptr), value :: scaler
      type(c_ptr), intent(in) :: optimizers(*)
      integer(c_size_t), value :: count
      type(step_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_update(scaler) bind(c) result(status)
      import
      type(c_ptr), value :: scaler
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_update_to(scaler, new_scale) bind(c) result(status)
      import
      type(c_ptr), value :: scaler
      real(c_float), value :: new_scale
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_accumulate(scaler, gradients, sum) bind(c) result(status)
      import
      type(c_ptr), value :: scaler, gradients, sum
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_step_accumulated(scaler, optimizer, options) bind(c) result(status)
      import
      type(c_ptr), value :: scaler, optimizer
      type(step_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_resume(scaler) bind(c) result(status)
      import
      type(c_ptr), value :: scaler
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_get_scale(scaler, index, scale) bind(c) result(status)
      import
      type(c_ptr), value :: scaler
      integer(c_int32_t), value :: index
      real(c_float), intent(inout) :: scale
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_outcome(scaler, index, record) bind(c) result(status)
      import
      type(c_ptr), value :: scaler
      integer(c_int32_t), value :: index
      type(step_record), intent(inout) :: record
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_records(scaler, records, capacity, count) bind(c) result(status)
      import
      type(c_ptr), value :: scaler, records
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(inout) :: count
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_ledger_text(scaler, format, text) bind(c) result(status)
      import
      type(c_ptr), value :: scaler
      integer(c_int32_t), value :: format
      type(c_ptr), intent(inout) :: text
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_get_policy(scaler, policy) bind(c) result(status)
      import
      type(c_ptr), value :: scaler
      type(scaling_policy), intent(inout) :: policy
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_set_policy(scaler, policy) bind(c) result(status)
      import
      type(c_ptr), value :: scaler
      type(scaling_policy), intent(inout) :: policy
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_get_state(scaler, json) bind(c) result(status)
      import
      type(c_ptr), value :: scaler
      type(c_ptr), intent(inout) :: json
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_set_state(scaler, json) bind(c) result(status)
      import
      type(c_ptr), value :: scaler, json
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_save_state(scaler, file) bind(c) result(status)
      import
      type(c_ptr), value :: scaler, file
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_load_state(scaler, file) bind(c) result(status)
      import
      type(c_ptr), value :: scaler, file
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_get_framework_state(scaler, framework, json) bind(c) result(status)
      import
      type(c_ptr), value :: scaler, framework
      type(c_ptr), intent(inout) :: json
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_set_framework_state(scaler, framework, json) bind(c) result(status)
      import
      type(c_ptr), value :: scaler, framework, json
      integer(c_int32_t) :: status
    end function
    function syclamp_ledger_replay(text, policy, report, results, capacity) bind(c) result(status)
      import
      type(c_ptr), value :: text, results
      type(scaling_policy), intent(in) :: policy
      type(replay_report), intent(inout) :: report
      integer(c_size_t), value :: capacity
      integer(c_int32_t) :: status
    end function
    function syclamp_scaler_prepare(scaler, gradients) bind(c) result(status)
      import
      type(c_ptr), value :: scaler, gradients
      integer(c_int32_t) :: status
    end function
    function syclamp_spike_guard_create(engine, options, guard) bind(c) result(status)
      import
      type(c_ptr), value :: engine
      type(spike_guard_options), intent(in) :: options
      type(c_ptr), intent(inout) :: guard
      integer(c_int32_t) :: status
    end function
    function syclamp_spike_guard_check(guard, device_value, scaler) bind(c) result(status)
      import
      type(c_ptr), value :: guard, device_value, scaler
      integer(c_int32_t) :: status
    end function
    function syclamp_recorded_step_create(engine, calls, user, mode, step) bind(c) result(status)
      import
      type(c_ptr), value :: engine, user
      type(c_funptr), value :: calls
      integer(c_int32_t), value :: mode
      type(c_ptr), intent(inout) :: step
      integer(c_int32_t) :: status
    end function
    function syclamp_recorded_step_run(step) bind(c) result(status)
      import
      type(c_ptr), value :: step
      integer(c_int32_t) :: status
    end function
    function syclamp_recorded_step_is_recorded(step, recorded) bind(c) result(status)
      import
      type(c_ptr), value :: step
      integer(c_int32_t), intent(inout) :: recorded
      integer(c_int32_t) :: status
    end function
    function syclamp_optimizer_defaults(kind, settings) bind(c) result(status)
      import
      integer(c_int32_t), value :: kind
      type(optimizer_settings), intent(inout) :: settings
      integer(c_int32_t) :: status
    end function
    function syclamp_optimizer_create(engine, parameters, count, settings, settings_count, storage, &
      optimizer) bind(c) result(status)
      import
      type(c_ptr), value :: engine
      type(c_parameter), intent(in) :: parameters(*)
      integer(c_size_t), value :: count, settings_count
      type(optimizer_settings), intent(in) :: settings(*)
      type(storage_options), intent(in) :: storage
      type(c_ptr), intent(inout) :: optimizer
      integer(c_int32_t) :: status
    end function
    function syclamp_optimizer_gradients(optimizer, list) bind(c) result(status)
      import
      type(c_ptr), value :: optimizer
      type(c_ptr), intent(inout) :: list
      integer(c_int32_t) :: status
    end function
    function syclamp_optimizer_apply(optimizer) bind(c) result(status)
      import
      type(c_ptr), value :: optimizer
      integer(c_int32_t) :: status
    end function
    function syclamp_optimizer_zero_gradients(optimizer) bind(c) result(status)
      import
      type(c_ptr), value :: optimizer
      integer(c_int32_t) :: status
    end function
    function syclamp_optimizer_set_lr(optimizer, group, lr) bind(c) result(status)
      import
      type(c_ptr), value :: optimizer
      integer(c_int32_t), value :: group
      real(c_double), value :: lr
      integer(c_int32_t) :: status
    end function
    function syclamp_optimizer_get_lr(optimizer, group, lr) bind(c) result(status)
      import
      type(c_ptr), value :: optimizer
      integer(c_int32_t), value :: group
      real(c_double), intent(inout) :: lr
      integer(c_int32_t) :: status
    end function
    function syclamp_optimizer_set_schedule(optimizer, schedule) bind(c) result(status)
      import
      type(c_ptr), value :: optimizer
      type(lr_schedule), intent(in) :: schedule
      integer(c_int32_t) :: status
    end function
    function syclamp_optimizer_set_settings(optimizer, group, settings) bind(c) result(status)
      import
      type(c_ptr), value :: optimizer
      integer(c_int32_t), value :: group
      type(optimizer_settings), intent(in) :: settings
      integer(c_int32_t) :: status
    end function
    function syclamp_optimizer_get_settings(optimizer, group, settings) bind(c) result(status)
      import
      type(c_ptr), value :: optimizer
      integer(c_int32_t), value :: group
      type(optimizer_settings), intent(inout) :: settings
      integer(c_int32_t) :: status
    end function
    function syclamp_optimizer_describe(optimizer, info) bind(c) result(status)
      import
      type(c_ptr), value :: optimizer
      type(optimizer_info), intent(inout) :: info
      integer(c_int32_t) :: status
    end function
    function syclamp_optimizer_get_progress(optimizer, group, progress) bind(c) result(status)
      import
      type(c_ptr), value :: optimizer
      integer(c_int32_t), value :: group
      type(optimizer_progress), intent(inout) :: progress
      integer(c_int32_t) :: status
    end function
    function syclamp_optimizer_steps(optimizer, group, steps) bind(c) result(status)
      import
      type(c_ptr), value :: optimizer
      integer(c_int32_t), value :: group
      integer(c_int64_t), intent(inout) :: steps
      integer(c_int32_t) :: status
    end function
    function syclamp_optimizer_weights(optimizer, parameter, weights, count) bind(c) result(status)
      import
      type(c_ptr), value :: optimizer, weights
      integer(c_int64_t), value :: parameter, count
      integer(c_int32_t) :: status
    end function
    function syclamp_checkpoint_save(file, optimizers, count, scaler, notes, notes_bytes) bind(c) result(status)
      import
      type(c_ptr), value :: file, scaler, notes
      type(c_ptr), intent(in) :: optimizers(*)
      integer(c_size_t), value :: count, notes_bytes
      integer(c_int32_t) :: status
    end function
    function syclamp_checkpoint_load(file, optimizers, count, scaler, notes, notes_bytes) bind(c) result(status)
      import
      type(c_ptr), value :: file, scaler
      type(c_ptr), intent(in) :: optimizers(*)
      integer(c_size_t), value :: count
      type(c_ptr), intent(inout) :: notes
      integer(c_size_t), intent(inout) :: notes_bytes
      integer(c_int32_t) :: status
    end function
  end interface
end module
