#!/usr/bin/env bash
# need.sh NAME… makes sure that the named programs are here: cc (a C compiler, for the race detector), chromium (for the
# browser test), curl and node (which tests of the front use as clients), jq (which recipes for CI use), nginx (which mirrors
# to the sink, and beside which the proxy is measured), haproxy (which reads its page on mirroring, and beside which the proxy
# is measured, too) and make. What is missing is installed with the system's package manager when this user may; otherwise it
# says what to install, and fails. It is the program that counts: where no service manager runs, a package may report failure
# although its program is there.
set -eu

have() {
	case $1 in
	cc) command -v "${CC:-cc}" || command -v gcc || command -v clang ;;
	chromium)
		command -v chromium || command -v chromium-browser || command -v google-chrome || command -v google-chrome-stable ||
			{ app='/Applications/Chromium.app/Contents/MacOS/Chromium' && [ -x "$app" ]; } ||
			{ app='/Applications/Google Chrome.app/Contents/MacOS/Google Chrome' && [ -x "$app" ]; }
		;;
	nginx | haproxy) command -v "$1" || [ -x "/usr/sbin/$1" ] ;; # which may not be on a user's path
	*) command -v "$1" ;;
	esac >/dev/null 2>&1
}

missing=()
for name in "$@"; do
	have "$name" || missing+=("$name")
done
[ ${#missing[@]} -gt 0 ] || exit 0

# package NAME is what the package manager calls it.
package() {
	case $manager:$1 in
	apt-get:cc) echo gcc libc6-dev ;;
	apk:cc) echo gcc musl-dev ;;
	*:node) echo nodejs ;;
	*:cc) echo gcc ;;
	*) echo "$1" ;;
	esac
}

manager=none
for candidate in apt-get dnf apk pacman zypper; do
	if command -v "$candidate" >/dev/null 2>&1; then
		manager=$candidate
		break
	fi
done

packages=()
for name in "${missing[@]}"; do
	read -ra words <<<"$(package "$name")"
	packages+=("${words[@]}")
done

case $manager in
apt-get) install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends) ;;
dnf) install=(dnf install -y) ;;
apk) install=(apk add --no-cache) ;;
pacman) install=(pacman -S --noconfirm) ;;
zypper) install=(zypper --non-interactive install) ;;
none) install=() ;;
esac

as_root=()
if [ "$(id -u)" -ne 0 ]; then
	if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
		as_root=(sudo -n)
	else
		install=()
	fi
fi

if [ ${#install[@]} -gt 0 ]; then
	echo "installing ${packages[*]} with $manager" >&2
	log=$(mktemp)
	if { [ "$manager" != apt-get ] || "${as_root[@]}" apt-get update; } >"$log" 2>&1 </dev/null &&
		"${as_root[@]}" "${install[@]}" "${packages[@]}" >>"$log" 2>&1 </dev/null; then
		rm -f "$log"
	else
		tail -n 20 "$log" >&2
		rm -f "$log"
	fi
fi

status=0
for name in "${missing[@]}"; do
	if ! have "$name"; then
		case $name in
		cc) what='a C compiler (gcc or clang), which the race detector needs' ;;
		chromium) what='Chromium or Chrome, which the browser test drives' ;;
		curl) what='curl, which tests of the front use as a client' ;;
		node) what='Node.js 18 or later, which tests of the front use as a client' ;;
		*) what=$name ;;
		esac
		echo "missing: $what" >&2
		status=1
	fi
done
[ $status -eq 0 ] || echo "install them with this system's package manager (here: ${packages[*]}), then try again" >&2
exit $status
