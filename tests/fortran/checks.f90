! SPDX-License-Identifier: Apache-2.0
! Checks that count failures instead of ending the program.
module checks
  implicit none
  integer :: failures = 0
contains
  subroutine check(condition, text)
    logical, intent(in) :: condition
    character(*), intent(in) :: text
    if (condition) return
    print '(2a)', "FAILED: ", text
    failures = failures + 1
  end subroutine
end module
