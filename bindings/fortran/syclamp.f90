! SPDX-License-Identifier: Apache-2.0
! The Fortran interface of syclamp, over its C interface:
!
!   use syclamp
!   type(engine) :: device
!   call device%create()
!
! Calls that can fail have the optional arguments stat and errmsg. Without stat, an error ends the program with its
! message.
! docs/fortran.md explains the rest. The modules syclamp_device_calls and syclamp_training_calls have the C functions.
module syclamp
  use syclamp_types, c_tensor_struct => c_tensor, c_parameter_struct => c_parameter, &
    c_device_info_struct => c_device_info
  use syclamp_objects, only: syclamp_last_error_text => last_error, syclamp_live_count
  use syclamp_devices
  use syclamp_machines
  use syclamp_tensors
  use syclamp_optimizers
  use syclamp_policies
  use syclamp_scalers
  use syclamp_scaler_states
  use syclamp_recorded_steps
  implicit none
  public
end module
