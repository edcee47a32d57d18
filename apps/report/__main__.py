# SPDX-License-Identifier: Apache-2.0
"""So that `python report FILE…` works from wherever the folder lies, with nothing installed or exported."""
from syclamp_report.__main__ import main

raise SystemExit(main())
