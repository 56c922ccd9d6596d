# respawn.t - dlaunch starts killed servers again, and the job ends with the same bits.  KILLS=100 kills as often.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/flow/data.sh"
. "$TOP/tests/flow/killed.sh"

KILLS=${KILLS:-6}
export OMP_NUM_THREADS=1
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT

servers() { really_living | while read -r p; do [ "$(cat "/proc/$p/comm" 2>/dev/null)" != pserver ] || echo "$p"; done; }

# kill_servers N: at random times, one or both at once.
kill_servers() {
	killed=0
	while [ $killed -lt "$1" ] && kill -0 "$pid" 2>/dev/null; do
		read -rt "${pause-0.$((RANDOM % 400 + 100))}" <> <(:)
		# shellcheck disable=SC2046
		kill -9 $(servers | shuf -n $((RANDOM % 3 / 2 + 1))) 2>/dev/null && killed=$((killed + 1))
	done
}

same() { # NAME ARGUMENT...: with and without deaths
	local name=$1
	shift
	start "$name.whole" -- "$@"
	ok "$name: an undisturbed job ends well" ends 0
	start "$name.cut" -- "$@"
	kill_servers "$KILLS"
	ok "$name: a job whose servers are killed ends well" ends 0
	ok "$name: servers were killed $killed times" test "$killed" -gt 0
	like "$T/err" '^server .: dlaunch: signal 9 ended this server; it was started again' "$name: dlaunch reports it"
	ok "$name: the weights have the bits of the undisturbed job" cmp "$T/$name".whole-*.safetensors "$T/$name".cut-*.safetensors
	ok "$name: nothing is left" really_none_left
}

if have mnist; then
	set -- --net lenet --data "$MNIST_TEST" --scale 0.00390625 --batch 32 --lr 0.05
	same lenet "$@" --steps $((KILLS * 20))

	what=listens start early --respawn 100 -- "$@" --steps 20
	pause=0.01 kill_servers 40
	ok "a job whose servers are killed while it starts ends well" ends 0
	start late -- "$@" --steps 20
	ends 0
	ok "the weights of that job have the same bits" cmp "$T"/early-*.safetensors "$T"/late-*.safetensors

	start none --respawn 0 -- "$@"
	kill -9 "$(servers | head -n 1)"
	ok "--respawn 0: a killed server ends the job with its status" ends 137
	ok "--respawn 0: nothing is left" really_none_left
	start one --respawn 1 -- "$@"
	victim=$(servers | head -n 1)
	kill -9 "$victim"
	ok "--respawn 1: a server is started again" line_of "$T/err" 'it was started again' 1
	line_of "$T/err" 'server .: pserver: holds' 3
	# shellcheck disable=SC2046
	kill -9 $(servers)
	ok "--respawn 1: a server that is killed twice ends the job" ends 137
	like "$T/err" 'signal 9 ended this server; it was not started again: --respawn allows 1 in an hour' \
		"--respawn 1: dlaunch says why it is not started again"
	ok "--respawn 1: nothing is left" really_none_left
else
	skip "lenet: killed servers" "$WHY"
fi
if have cifar; then
	same inception --net inception --data "$CIFAR_TEST" --rand-crop --rand-mirror --batch 4 --steps $((KILLS * 4))
else
	skip "inception: killed servers" "$WHY"
fi
done_testing
