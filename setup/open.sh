#!/bin/sh
# Opens a file on the user's desktop:   open.sh FILE
# Does nothing without a desktop, without a terminal or without xdg-open, and never fails.
if [ -t 1 ] && [ -n "${DISPLAY-}${WAYLAND_DISPLAY-}" ] && command -v xdg-open >/dev/null 2>&1; then
  xdg-open "$1" >/dev/null 2>&1 </dev/null & # some desktops keep xdg-open until the browser is closed
fi
exit 0
