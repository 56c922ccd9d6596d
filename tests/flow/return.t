# return.t - dlaunch starts killed workers again, and the job ends with the same bits.  KILLS=100 kills as often.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/flow/data.sh"
. "$TOP/tests/flow/killed.sh"

KILLS=${KILLS:-2}
export OMP_NUM_THREADS=1
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT

# processes NAME: those of the job that run now.
processes() {
	pgrep -x "$1" | while read -r p; do
		tr '\0' '\n' 2>/dev/null <"/proc/$p/environ" | grep -qxF "STAND=$STAND" && echo "$p"
	done
}
# kill_some NAME...: as often as $KILLS says, in the course of the job, one or two processes of each name at once.
kill_some() {
	local name
	killed=0
	while [ $killed -lt "$KILLS" ] && kill -0 "$pid" 2>/dev/null; do
		line_of "$T/err" 'Speed' $((2 * killed + 1)) "$pid" >"$T/.line" 2>&1 || return
		read -rt 0.0$((RANDOM % 90 + 10)) <> <(:)
		# shellcheck disable=SC2046
		kill -9 $(for name; do processes "$name" | shuf -n $((RANDOM % 2 + 1)); done) && killed=$((killed + 1))
	done
}
# What the log says of training, without times and traffic.
figures() {
	awk -F '\t' '$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["role"] == "worker" && $at["event"] ~ /^(start|step|epoch|validation|save|end)$/ {
			print $at["rank"], $at["event"], $at["epoch"], $at["step"], $at["samples"], $at["loss"], $at["accuracy"] }' "$1" |
		sort
}
# A row may be missing if its worker was killed just before it, but none is there twice, and none is another.
rows() {
	figures "$1" >"$T/whole.rows" && figures "$2" >"$T/cut.rows" && [ -s "$T/cut.rows" ] || return 1
	comm -13 "$T/whole.rows" "$T/cut.rows" >"$T/extra"
	[ ! -s "$T/extra" ] || { echo "rows that are not in the undisturbed log:"; cat "$T/extra"; return 1; }
	[ $(($(wc -l <"$T/whole.rows") - $(wc -l <"$T/cut.rows"))) -le $((2 * killed)) ]
}
same_bits() { for f in "$T/$1".whole-*.safetensors; do cmp "$f" "${f/whole/cut}" || return 1; done; }
# check NAME: the job of whole has ended, and so will that of cut.
check() {
	ok "$1: a job whose processes are killed ends well" ends 0
	ok "$1: processes were killed $killed times" test "$killed" -gt 0
	like "$T/err" '^worker .: dlaunch: signal 9 ended this worker; it was started again' "$1: dlaunch reports it"
	like "$T/err" '^worker .: pworker: was started again; goes on at step [0-9]+$' "$1: the worker names the step"
	ok "$1: all weights have the bits of the undisturbed job" same_bits "$1"
	ok "$1: the log has the rows of the undisturbed job, each once" rows "$T/$1.whole.log" "$T/$1.cut.log"
	ok "$1: nothing is left" really_none_left
}
whole() {
	local name=$1
	shift
	start "$name.whole" -- "$@"
	ok "$name: an undisturbed job ends well" ends 0
}

if have mnist; then
	set -- --net lenet --data "$MNIST_TEST" --scale 0.00390625 --lr 0.05
	part=(--net lenet --data "$MNIST_PART" --scale 0.00390625 --lr 0.05)
	whole steps "$@" --batch 32 --frequent 40 --steps $((KILLS * 60))
	start steps.cut --respawn 1000 -- "$@" --batch 32 --frequent 40 --steps $((KILLS * 60))
	kill_some pworker
	check steps

	whole both "$@" --batch 32 --frequent 40 --optimizer lars --steps $((KILLS * 60))
	start both.cut --respawn 1000 -- "$@" --batch 32 --frequent 40 --optimizer lars --steps $((KILLS * 60))
	kill_some pworker pserver
	check both

	# At each end of an epoch, when its figures are there, and in the validation that follows.
	set -- "${part[@]}" --val "$MNIST_TEST" --batch 100 --epochs 2
	for best in '' --best; do
		name=epoch$best
		# shellcheck disable=SC2086
		whole "$name" "$@" $best
		# shellcheck disable=SC2086
		start "$name.cut" --respawn 1000 -- "$@" $best
		killed=0
		for n in 1 2; do
			line_of "$T/err" 'Train-accuracy' $n
			# shellcheck disable=SC2046
			kill -9 $(processes pworker | shuf -n $((n % 2 + 1))) 2>/dev/null && killed=$((killed + 1))
		done
		check "$name"
	done

	mkdir "$T/gone"
	start gone/m -- "${part[@]}" --batch 100 --epochs 12
	first=$(real_process --worker 0)
	# It has checked the folder.  A folder that rm empties may get a checkpoint meanwhile, and stay.
	line_of "$T/err" '^worker 0: Epoch.0. Train-accuracy' 1
	mv "$T/gone" "$T/moved"
	line_of "$T/err" 'no checkpoint: ' 1
	kill -9 "$first"
	ok "a worker returns although no checkpoint can be written" line_of "$T/err" '^worker 0: pworker: was started again' 1
	mkdir "$T/gone"
	ok "the job ends with status 1, as its predecessor could not write one" ends 1
	like "$T/err" '^worker 0: Epoch\[11\] Train-accuracy' "the job has trained to its end"

	set -- "$@" --epochs 1000
	start none --respawn 0 -- "$@"
	kill -9 "$(processes pworker | head -n 1)"
	ok "--respawn 0: a killed worker ends the job with its status" ends 137
	# A worker that is killed before it does anything, once.
	mkdir "$T/early"
	cat >"$T/early/pworker" <<-'EOF'
		#!/bin/bash
		! mkdir "$STAND/early" 2>/dev/null || kill -9 $$
		exec "$BUILD/pworker" "$@"
	EOF
	chmod +x "$T/early/pworker"
	status 0 "a worker that is killed at its start is started again" \
		dlaunch -n 2 -s 2 --env STAND --env BUILD --env TALLY_SHARE "$T/early/pworker" "$@" --steps 2
	like "$T/err" '^worker .: dlaunch: signal 9 ended this worker; it was started again' "dlaunch reports it"
	start one --respawn 1 -- "$@"
	line_of "$T/err" 'Train-accuracy' 1
	kill -9 "$(processes pworker | head -n 1)"
	ok "--respawn 1: a worker is started again" line_of "$T/err" '^worker .: pworker: was started again' 1
	# shellcheck disable=SC2046
	kill -9 $(processes pworker)
	ok "--respawn 1: a worker that is killed twice ends the job" ends 137
	ok "--respawn 1: nothing is left" really_none_left
	start broken -- "$@"
	line_of "$T/err" 'Train-accuracy' 1
	rm -f "$T"/broken-*
	kill -TERM "$pid"
	ok "a job that is asked to end does so, and starts no worker again" ends 143
	ok "no worker was started again" test "$(grep -c 'started again' "$T/err")" -eq 0
else
	skip "lenet: killed workers" "$WHY"
fi
if have cifar; then
	set -- --net inception --data "$CIFAR_TEST" --rand-crop --rand-mirror --batch 4 --frequent 4 --steps $((KILLS * 6))
	whole inception "$@"
	start inception.cut --respawn 1000 -- "$@"
	kill_some pworker
	check inception
else
	skip "inception: killed workers" "$WHY"
fi
done_testing
