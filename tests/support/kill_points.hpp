// SPDX-License-Identifier: Apache-2.0
// A process that is killed at an exact moment: by SIGKILL, at one of its calls to the system that have to do with
// files.
#pragma once

/// Counts such calls of this process from now on, and ends it at number `call`: before the call, or after it if that is
/// `afterwards`; a `write` has written half of its bytes then. 0: only counts.
void kill_at(unsigned call, bool afterwards = false);
