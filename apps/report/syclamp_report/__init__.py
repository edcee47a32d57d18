# SPDX-License-Identifier: Apache-2.0
"""Pages from the JSON that the syclamp program writes. `training` is the page of `syclamp train --compare`."""
