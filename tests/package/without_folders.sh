#!/bin/sh
# Runs a command in a file system in which folders are empty:   without_folders.sh WORK FOLDER… -- COMMAND…
# WORK may lie in one of the folders. It appears elsewhere, and COMMAND, which is called there, must refer to it as "$PWD".
# Needs user namespaces of the system; ends with 77 without them.
set -eu
if [ "${1-}" != --inside ]; then
  unshare -rm true 2> /dev/null || exit 77
  place=$(mktemp -d)
  trap 'rmdir "$place"' EXIT
  unshare -rm sh "$0" --inside "$place" "$@"
  exit
fi
place=$2
mount --bind "$3" "$place"
shift 3
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mount -t tmpfs none "$1"; fi # folders may lie in each other
  shift
done
shift
cd "$place"
exec "$@"
