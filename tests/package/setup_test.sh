#!/bin/sh
# setup/wheels.sh with a stand-in for Python: what matters here is when it makes a prefix and when it does not.
set -eu
project=$1
cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/setup"
cp "$project/setup/wheels.sh" "$work/setup"
echo one > "$work/setup/sycl.lock"
echo two > "$work/setup/tools.lock"
echo tidy > "$work/setup/tidy.lock"
echo also > "$work/setup/report.lock"
echo site > "$work/setup/site.lock"
echo python > "$work/setup/python.lock"
echo torch > "$work/setup/torch.lock"
echo data > "$work/setup/data.lock"
cat > "$work/bin/python3" <<'PYTHON'
#!/bin/sh
# `python3 -m venv FOLDER` makes a folder with a python that "installs" one file.
mkdir -p "$3/bin" "$3/lib"
printf '#!/bin/sh\necho installed >> "%s/../log"\nhead -c 100 /dev/zero > "%s/lib/libsycl.so"\n' "$3" "$3" > "$3/bin/python"
chmod +x "$3/bin/python"
PYTHON
chmod +x "$work/bin/python3"
cd "$work"
system_python=$(command -v python3)
PATH=$work/bin:$PATH

expect() { # expect COUNT WHY: how often something has been installed so far
  sh setup/wheels.sh > output
  made=$(wc -l < .syclamp/log)
  [ "$made" = "$1" ] || { echo "after $2: installed $made times instead of $1"; cat output; exit 1; }
}
sh setup/wheels.sh report > output
expect_only() { [ "$(cd .syclamp && echo *)" = "$1" ] || { echo "instead of $1 there is: $(ls .syclamp)"; exit 1; }; }
expect_only "log report"
if sh setup/wheels.sh unknown 2> message; then echo "an unknown prefix is not refused"; exit 1; fi
expect 9 "the first run"
expect 9 "a second run"
[ ! -s output ] || { echo "a second run is not silent"; exit 1; }
rm .syclamp/sycl/lib/libsycl.so
expect 10 "removing a file"
head -c 50 /dev/zero > .syclamp/sycl/lib/libsycl.so
expect 11 "truncating a file"
rm .syclamp/tools/.contents
expect 12 "an installation that did not end"
echo three > setup/sycl.lock
expect 13 "a change of the lock file"
mkdir .syclamp/sycl/lib/__pycache__ && touch .syclamp/sycl/lib/__pycache__/x.pyc
expect 13 "what Python writes by itself"
touch .syclamp/data/stray # the data is taken out of a wheel by two calls of the report's Python
expect 15 "a file too many"

# setup/packages.sh: the sources of the backports are those of the system, however they are written.
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
backports() { # backports CLASSIC DEB822: what is derived from such files
  rm -rf apt && mkdir -p apt/sources.list.d
  [ -z "$1" ] || printf '%b' "$1" > apt/sources.list
  [ -z "$2" ] || printf '%b' "$2" > apt/sources.list.d/system.sources
  SYCLAMP_APT_SOURCES=$work/apt/sources sh "$project/setup/packages.sh" --backports-sources "$work/derived"
  cat derived.list derived.sources
}
same() { [ "$1" = "$2" ] || { printf 'expected:\n%s\ngot:\n%s\n' "$2" "$1"; exit 1; }; }
same "$(backports "" "")" ""
same "$(backports "# no\ndeb [signed-by=/k] scheme://a/debian $codename main\ndeb scheme://a $codename-updates main\n" "")" \
  "deb [signed-by=/k] scheme://a/debian $codename-backports main"
same "$(backports "" "Types: deb\nURIs: scheme://a\nSuites: $codename $codename-updates\nComponents: main\n\nTypes: deb\nURIs: scheme://s\nSuites: $codename-security\n")" \
  "$(printf 'Types: deb\nURIs: scheme://a\nSuites: %s-backports\nComponents: main' "$codename")"

# setup/packages.sh: the header of Python is wanted for the Python package only.
mkdir headerless
printf '#!/bin/sh\ncase $* in *sysconfig*) echo /nowhere ;; *) exec "%s" "$@" ;; esac\n' "$system_python" > headerless/python3
chmod +x headerless/python3
wanted() { PATH=$work/headerless:$PATH sh "$project/setup/packages.sh" "$@" --list | grep -x python3-dev || true; }
same "$(wanted)" ""
same "$(wanted --tests)" ""
same "$(wanted --python)" python3-dev
if sh "$project/setup/packages.sh" --unknown 2> message; then echo "packages.sh: an unknown option is not refused"; exit 1; fi

# setup/paths.sh and cmake/paths.cmake: a path that a later tool would cut in two is refused, with the character's name.
mkdir -p "white space"
accepts() { sh "$project/setup/paths.sh" "$1" "$2" 2> message; }
accepts_in_cmake() {
  printf 'include([[%s/cmake/paths.cmake]])\nsyclamp_check_path("the project" [[%s]])\nsyclamp_check_sycl_path([[%s]])\n' \
    "$project" "$1" "$2" > check.cmake
  "$cmake" -P check.cmake 2> message
}
refuses() { # refuses PROJECT SYCL_ROOT CHARACTER
  for way in accepts accepts_in_cmake; do
    if $way "$1" "$2"; then echo "$way: $1 and $2 are not refused"; exit 1; fi
    tr -s "\n " " " < message | grep -q "has a $3" || \
      { echo "$way: the message does not name the $3:"; cat message; exit 1; }
  done
}
refuses "/a;b" /sycl semicolon
refuses "/a:b" /sycl colon
refuses /project "/a:b/sycl" colon
refuses /project "$work/white space" space
ln -s "white space" link
refuses /project "$work/link" space
for way in accepts accepts_in_cmake; do
  $way "/white space" /sycl || { echo "$way: a project may lie below a folder with a space if its runtime does not"; cat message; exit 1; }
done
