! SPDX-License-Identifier: Apache-2.0
! Functions of the C interface: engines, memory, lists, inspections, operations. The C headers describe them.
module syclamp_device_calls
  use, intrinsic :: iso_c_binding
  use syclamp_types
  implicit none
  public

  interface
    function syclamp_last_error() bind(c) result(status)
      import
      type(c_ptr) :: status
    end function
    function syclamp_version() bind(c) result(status)
      import
      type(c_ptr) :: status
    end function
    function syclamp_text_free(text) bind(c) result(status)
      import
      type(c_ptr), value :: text
      integer(c_int32_t) :: status
    end function
    function syclamp_handle_copy(handle, copy) bind(c) result(status)
      import
      type(c_ptr), value :: handle
      type(c_ptr), intent(inout) :: copy
      integer(c_int32_t) :: status
    end function
    function syclamp_handle_destroy(handle) bind(c) result(status)
      import
      type(c_ptr), value :: handle
      integer(c_int32_t) :: status
    end function
    function syclamp_live_objects() bind(c) result(status)
      import
      integer(c_size_t) :: status
    end function
    function syclamp_host_round(values, type, bits, count) bind(c) result(status)
      import
      type(c_ptr), value :: values, bits
      integer(c_int32_t), value :: type
      integer(c_size_t), value :: count
      integer(c_int32_t) :: status
    end function
    function syclamp_host_widen(bits, type, values, count) bind(c) result(status)
      import
      type(c_ptr), value :: bits, values
      integer(c_int32_t), value :: type
      integer(c_size_t), value :: count
      integer(c_int32_t) :: status
    end function
    function syclamp_handle_engine(handle, engine) bind(c) result(status)
      import
      type(c_ptr), value :: handle
      type(c_ptr), intent(inout) :: engine
      integer(c_int32_t) :: status
    end function
    function syclamp_device_count(count) bind(c) result(status)
      import
      integer(c_size_t), intent(inout) :: count
      integer(c_int32_t) :: status
    end function
    function syclamp_device_describe(index, info) bind(c) result(status)
      import
      integer(c_size_t), value :: index
      type(c_device_info), intent(inout) :: info
      integer(c_int32_t) :: status
    end function
    function syclamp_engine_create(options, engine) bind(c) result(status)
      import
      type(engine_options), intent(in) :: options
      type(c_ptr), intent(inout) :: engine
      integer(c_int32_t) :: status
    end function
    function syclamp_engine_device_name(engine, name) bind(c) result(status)
      import
      type(c_ptr), value :: engine
      type(c_ptr), intent(inout) :: name
      integer(c_int32_t) :: status
    end function
    function syclamp_engine_get_statistics(engine, statistics) bind(c) result(status)
      import
      type(c_ptr), value :: engine
      type(engine_statistics), intent(inout) :: statistics
      integer(c_int32_t) :: status
    end function
    function syclamp_engine_compile_all(engine) bind(c) result(status)
      import
      type(c_ptr), value :: engine
      integer(c_int32_t) :: status
    end function
    function syclamp_engine_wait(engine) bind(c) result(status)
      import
      type(c_ptr), value :: engine
      integer(c_int32_t) :: status
    end function
    function syclamp_memory_allocate(engine, bytes, kind, address) bind(c) result(status)
      import
      type(c_ptr), value :: engine
      integer(c_int64_t), value :: bytes
      integer(c_int32_t), value :: kind
      type(c_ptr), intent(inout) :: address
      integer(c_int32_t) :: status
    end function
    function syclamp_memory_adopt(engine, address, bytes) bind(c) result(status)
      import
      type(c_ptr), value :: engine, address
      integer(c_int64_t), value :: bytes
      integer(c_int32_t) :: status
    end function
    function syclamp_memory_free(address) bind(c) result(status)
      import
      type(c_ptr), value :: address
      integer(c_int32_t) :: status
    end function
    function syclamp_memory_copy_in(engine, destination, source, bytes) bind(c) result(status)
      import
      type(c_ptr), value :: engine, destination, source
      integer(c_int64_t), value :: bytes
      integer(c_int32_t) :: status
    end function
    function syclamp_memory_copy_out(engine, destination, source, bytes) bind(c) result(status)
      import
      type(c_ptr), value :: engine, destination, source
      integer(c_int64_t), value :: bytes
      integer(c_int32_t) :: status
    end function
    function syclamp_memory_fill(engine, destination, value, bytes) bind(c) result(status)
      import
      type(c_ptr), value :: engine, destination
      integer(c_int32_t), value :: value
      integer(c_int64_t), value :: bytes
      integer(c_int32_t) :: status
    end function
    function syclamp_tensor_list_create(engine, tensors, count, list) bind(c) result(status)
      import
      type(c_ptr), value :: engine
      type(c_tensor), intent(in) :: tensors(*)
      integer(c_size_t), value :: count
      type(c_ptr), intent(inout) :: list
      integer(c_int32_t) :: status
    end function
    function syclamp_tensor_list_describe(list, info) bind(c) result(status)
      import
      type(c_ptr), value :: list
      type(tensor_list_info), intent(inout) :: info
      integer(c_int32_t) :: status
    end function
    function syclamp_tensor_list_set_addresses(list, addresses, count) bind(c) result(status)
      import
      type(c_ptr), value :: list
      type(c_ptr), intent(in) :: addresses(*)
      integer(c_size_t), value :: count
      integer(c_int32_t) :: status
    end function
    function syclamp_inspector_create(list, level, inspector) bind(c) result(status)
      import
      type(c_ptr), value :: list
      integer(c_int32_t), value :: level
      type(c_ptr), intent(inout) :: inspector
      integer(c_int32_t) :: status
    end function
    function syclamp_inspector_run(inspector, scale, device_scale) bind(c) result(status)
      import
      type(c_ptr), value :: inspector, device_scale
      real(c_float), value :: scale
      integer(c_int32_t) :: status
    end function
    function syclamp_inspector_unscale(inspector, out, scale, device_scale, unscaled) bind(c) result(status)
      import
      type(c_ptr), value :: inspector, out, device_scale, unscaled
      real(c_float), value :: scale
      integer(c_int32_t) :: status
    end function
    function syclamp_inspector_result(inspector, result) bind(c) result(status)
      import
      type(c_ptr), value :: inspector
      type(inspection), intent(inout) :: result
      integer(c_int32_t) :: status
    end function
    function syclamp_inspector_tensor(inspector, index, result) bind(c) result(status)
      import
      type(c_ptr), value :: inspector
      integer(c_int64_t), value :: index
      type(inspection), intent(inout) :: result
      integer(c_int32_t) :: status
    end function
    function syclamp_inspector_group(inspector, index, result) bind(c) result(status)
      import
      type(c_ptr), value :: inspector
      integer(c_int32_t), value :: index
      type(inspection), intent(inout) :: result
      integer(c_int32_t) :: status
    end function
    function syclamp_inspector_histogram(inspector, counts) bind(c) result(status)
      import
      type(c_ptr), value :: inspector
      integer(c_int64_t), intent(inout) :: counts(256)
      integer(c_int32_t) :: status
    end function
    function syclamp_unscale(in, out, scale, device_scale, unscaled) bind(c) result(status)
      import
      type(c_ptr), value :: in, out, device_scale, unscaled
      real(c_float), value :: scale
      integer(c_int32_t) :: status
    end function
    function syclamp_scale(in, out, factor, device_factor) bind(c) result(status)
      import
      type(c_ptr), value :: in, out, device_factor
      real(c_float), value :: factor
      integer(c_int32_t) :: status
    end function
    function syclamp_accumulate(in, sum, scale, device_scale, overflow_check, unscaled) bind(c) result(status)
      import
      type(c_ptr), value :: in, sum, device_scale, overflow_check, unscaled
      real(c_float), value :: scale
      integer(c_int32_t) :: status
    end function
    function syclamp_clear(list, overflow_check) bind(c) result(status)
      import
      type(c_ptr), value :: list, overflow_check
      integer(c_int32_t) :: status
    end function
    function syclamp_cast(in, out, options) bind(c) result(status)
      import
      type(c_ptr), value :: in, out, options
      integer(c_int32_t) :: status
    end function
    function syclamp_unscaled_create(never_scaled, unscaled) bind(c) result(status)
      import
      type(c_ptr), value :: never_scaled
      type(c_ptr), intent(inout) :: unscaled
      integer(c_int32_t) :: status
    end function
    function syclamp_unscaled_list(unscaled, list) bind(c) result(status)
      import
      type(c_ptr), value :: unscaled
      type(c_ptr), intent(inout) :: list
      integer(c_int32_t) :: status
    end function
    function syclamp_clip_by_group(inspector, unscaled, max_norm, device_max_norm, kind) bind(c) result(status)
      import
      type(c_ptr), value :: inspector, unscaled, device_max_norm
      real(c_float), value :: max_norm
      integer(c_int32_t), value :: kind
      integer(c_int32_t) :: status
    end function
    function syclamp_clip_result(inspector, group, norm, coefficient) bind(c) result(status)
      import
      type(c_ptr), value :: inspector
      integer(c_int32_t), value :: group
      real(c_float), intent(inout) :: norm, coefficient
      integer(c_int32_t) :: status
    end function
    function syclamp_clip(inspector, unscaled, max_norm, device_max_norm, kind) bind(c) result(status)
      import
      type(c_ptr), value :: inspector, unscaled, device_max_norm
      real(c_float), value :: max_norm
      integer(c_int32_t), value :: kind
      integer(c_int32_t) :: status
    end function
    function syclamp_clip_by_value(unscaled, limit, device_limit) bind(c) result(status)
      import
      type(c_ptr), value :: unscaled, device_limit
      real(c_float), value :: limit
      integer(c_int32_t) :: status
    end function
  end interface
end module
