# Shared by the scripts: finding and installing what is needed.  Sourced, not run.

say() { printf '%s\n' "$*"; }
die() { printf '%s\n' "$*" >&2; exit 2; }

# need WHAT PACKAGE...: installs the Debian packages that are missing, or says what is needed where apt is not there.
need() {
    local what=$1 missing=() package
    shift
    if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
        say "This is not a Debian system: nothing is installed. $what needs, by their Debian names:"
        say "    $*"
        return 0
    fi
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    if [ ${#missing[@]} -eq 0 ]; then
        say "packages: all there ($*)"
        return 0
    fi
    if [ "$(id -u)" != 0 ]; then
        die "missing packages; run as root: apt-get install ${missing[*]}"
    fi
    say "packages: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null || die "apt-get update failed"
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || die "apt-get install failed: ${missing[*]}"
}

# quietly LOG COMMAND...: runs a command into a log and shows the log only if it fails.
quietly() {
    local log=$1
    shift
    mkdir -p "$(dirname "$log")"
    if ! "$@" >"$log" 2>&1; then
        tail -n 60 "$log" >&2
        printf 'failed: %s (whole log: %s)\n' "$*" "$log" >&2
        return 1
    fi
}
