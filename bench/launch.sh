#!/usr/bin/env bash
# launch.sh - `true` on 32 hosts by dlaunch, pdsh and GNU parallel in turn: seconds from the command to its end, and of processor.
#
#	bench/launch.sh [rounds [hosts]]
#
# The hosts are names for one sshd of the script's own on loopback, each with its own connection, handshake and shell, whose
# start files are none; all that is measured runs on this machine's processors: the launchers' and what the daemon
# starts.  The launchers take turns, so that all are measured in the same
# minutes; a round before the first counts for nothing.  What is not installed is left out.
set -eu
cd "$(dirname "$0")/.."
TOP=$PWD BUILD=${BUILD:-$PWD/build}
rounds=${1:-9} hosts=${2:-32}
. "$TOP/tests/tap.sh"
. "$TOP/tests/sshd.sh"
trap 'sshd_stop; rm -rf "$T"' EXIT
set +u
[ -n "$sshd" ] && sshd_setup && mkdir "$T/home" && echo "SetEnv HOME=$T/home" >"$T/ssh/one.more" && sshd_start one 127.0.0.1 0 ||
	{ echo "launch.sh: no sshd" >&2; exit 1; }
daemon=${sshd_pids# }
config=$T/ssh/config
port=$(sed -n 's/^\tPort //p' "$config")
for ((i = 1; i <= hosts; i++)); do
	printf 'Host h%d\n\tHostName 127.0.0.1\n\tPort %s\n' $i "$port" >>"$config"
	echo h$i >>"$T/hosts"
done
list=$(paste -sd, "$T/hosts")

by_dlaunch() { dlaunch -n "$hosts" -s 0 -H "$T/hosts" --rsh "ssh -F $config {host}" -- true; }
by_pdsh() { PDSH_SSH_ARGS_APPEND="-F $config" pdsh -R ssh -S -f "$hosts" -w "$list" true; }
by_parallel() { parallel --will-cite -j "$hosts" ssh -F "$config" {} true :::: "$T/hosts"; }
by_ssh() { (while read -r h; do ssh -F "$config" "$h" true </dev/null & done <"$T/hosts"; wait); }

# Seconds of processor that the daemon's children have had, once they have all ended.
daemon_s() {
	while [ -n "$(cat "/proc/$daemon/task/$daemon/children")" ]; do read -rt 0.01 <> <(:) || :; done
	awk -v hz="$(getconf CLK_TCK)" '{ print ($16 + $17) / hz }' "/proc/$daemon/stat"
}

names=(dlaunch)
for name in pdsh parallel; do
	if command -v $name >/dev/null; then names+=($name); else echo "# no $name"; fi
done
names+=(ssh)	# as many of them at once, and nothing else: the floor
TIMEFORMAT='%R %U %S'
for ((r = 0; r <= rounds; r++)); do
	for name in "${names[@]}"; do
		before=$(daemon_s)
		{ time by_$name >"$T/said" 2>&1; } 2>"$T/time" || { echo "launch.sh: $name:" >&2; head -5 "$T/said" >&2; exit 1; }
		[ $r = 0 ] || echo "$name $(<"$T/time") $before $(daemon_s)" |
			awk '{ printf "%s %.3f %.3f\n", $1, $2, $3 + $4 + $6 - $5 }' >>"$T/times"
	done
done
middle() {
	grep "^$1 " "$T/times" | cut -d' ' -f"$2" | sort -n |
		awk -v OFS='\t' '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)], t[1], t[NR] }'
}
printf 'launcher\thosts\trounds\tmedian_s\tleast_s\tmost_s\tcpu_median_s\tcpu_least_s\tcpu_most_s\n'
for name in "${names[@]}"; do
	printf '%s\t%d\t%d\t%s\t%s\n' "$name" "$hosts" "$rounds" "$(middle "$name" 2)" "$(middle "$name" 3)"
done
