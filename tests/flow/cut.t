#!/usr/bin/env bash
# cut.t - a job whose processes are all killed goes on from its last cut, and ends with the same bits.
# KILLS=100 kills as often.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/flow/data.sh"
. "$TOP/tests/flow/killed.sh"

KILLS=${KILLS:-2}
export OMP_NUM_THREADS=1
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT
cd "$T" || exit 1

cuts() { find . -name '*.cut-*' | wc -l; }
sealed() { find . -name "$1.cut-*.manifest" | wc -l; }
same_bits() { for f in whole.*.safetensors; do cmp "$f" "${f/whole/cut}" || return 1; done; }
# The figures of each epoch and validation; in the log of a job that went on they are those of the last row.
figures() {
	awk -F '\t' '$5 ~ /^(epoch|validation)$/ { row[$5 " " $6] = $8 " " $9 " " $10 } END { for (k in row) print k, row[k] }' "$1" | sort
}
# all_die N: when a cut N or more steps after the newest is sealed, and some time after, all processes of the job die at once.
all_die() {
	local last=$(($1 + $(newest)))
	while [ "$(newest)" -lt "$last" ]; do
		kill -0 "$pid" 2>/dev/null || return
		read -rt 0.02 <> <(:) || :
	done
	read -rt 0.0$((RANDOM % 40 + 10)) <> <(:) || :
	# shellcheck disable=SC2046
	kill -9 "$pid" $(really_living)
	wait "$pid" 2>/dev/null
	really_none_left
}
# The step of the newest cut that is sealed.
newest() { find . -name 'cut.*.manifest' | sed -E 's/.*-0*([0-9]+)-0*([0-9]+)\.safetensors.*/\1 \2/' |
	awk -v steps="$steps" '$1 * steps + $2 > n { n = $1 * steps + $2 } END { print n + 0 }'; }

# check NAME STEPS ARGUMENT...: with STEPS steps an epoch.
check() {
	local name=$1 i
	steps=$2
	shift 2
	start "whole.$name" -- "$@"
	ok "$name: an undisturbed job ends well" ends 0
	is "$(cuts)" 0 "$name: it leaves no cut"
	start "cut.$name" -- "$@"
	for ((i = 0; i < KILLS; i++)); do
		ok "$name: a job is killed after cut $i" all_die 1
		ok "$name: it has a sealed cut" test "$(sealed "cut.$name")" -gt 0
		cat "cut.$name.log" >>"cut.$name.all"
		start "cut.$name" -- "$@" --resume-last
		until grep -q ': resumes from ' "$T/err" || ! kill -0 "$pid"; do read -rt 0.02 <> <(:) || :; done
		like "$T/err" "^worker 0: pworker: resumes from .*cut.$name.cut-[0-9a-f]*-[0-9]*-[0-9]*.safetensors$" \
			"$name: it goes on from a cut"
	done
	ok "$name: it ends well" ends 0
	cat "cut.$name.log" >>"cut.$name.all"
	ok "$name: all weights have the bits of the undisturbed job" same_bits
	is "$(figures "cut.$name.all")" "$(figures "whole.$name.log")" "$name: epochs and validations have its figures"
	is "$(cuts)" 0 "$name: no cut is left"
	rm -f ./*.safetensors
}

if have mnist; then
	set -- --net lenet --data "$MNIST_TEST" --scale 0.00390625 --lr 0.05
	part=(--net lenet --data "$MNIST_PART" --scale 0.00390625 --lr 0.05)
	check sgd 100 "${part[@]}" --val "$MNIST_PART" --batch 10 --epochs "$KILLS" --cut 3 --best
	KILLS=1 check adam 100 "${part[@]}" --batch 10 --epochs 1 --cut 2 --optimizer adam --ema 0.99

	# With --async and --slack the workers go on at the step of worker 0, and the updates of all are counted on.
	updates() { head -c 65536 "$1" | grep -aoE '"updates": ?"[0-9]+"' | tr -dc 0-9; }
	steps=100
	for how in "--async" "--slack 2"; do
		# shellcheck disable=SC2086
		start cut.loose -- "${part[@]}" $how --batch 10 --steps 199 --cut 5
		ok "$how: a job is killed after a cut" all_die 1
		last=$(newest) file=$(find . -name 'cut.loose.cut-*.manifest' | sort | tail -n 1) file=${file%.manifest}
		made=$(updates "$file")
		# shellcheck disable=SC2086
		start cut.loose -- "${part[@]}" $how --batch 10 --steps 199 --cut 5 --resume-last
		ok "$how: it ends well" ends 0
		like "$T/err" "^worker 0: pworker: resumes from .*/${file#./}$" "$how: it goes on from its newest cut"
		ok "$how: it reaches its last step" test -e cut.loose-0001-000099.safetensors
		ok "$how: the updates of all workers are counted on" \
			test "$(updates cut.loose-0001-000099.safetensors)" -ge $((made + 199 - last))
		is "$(cuts)" 0 "$how: no cut is left"
		rm -f ./*.safetensors
	done

	# All processes die while a cut is written.
	start whole.half -- "$@" --batch 20 --optimizer adam --steps 99
	ends 0
	start cut.half -- "$@" --batch 20 --optimizer adam --steps 99 --cut 1
	pid0=$(real_process --worker 0)
	until [ "$(sealed cut.half)" -gt 0 ]; do kill -0 "$pid" || break; read -rt 0.02 <> <(:) || :; done
	unfinished() { compgen -G 'cut.half.cut-*.tmp' >/dev/null; }
	# A process stops a moment after the signal was sent.
	stopped_within() { unfinished && kill -STOP "$pid0" && { read -rt 0.05 <> <(:) || unfinished; }; }
	until stopped_within; do kill -CONT "$pid0" || break; done 2>/dev/null
	# shellcheck disable=SC2046
	kill -9 "$pid" $(really_living)
	wait "$pid" 2>/dev/null
	ok "a job is killed while it writes a cut" unfinished
	ok "nothing of it is left" really_none_left
	start cut.half -- "$@" --batch 20 --optimizer adam --steps 99 --cut 1 --resume-last
	ok "the job that resumes ends well" ends 0
	like "$T/err" '^worker 0: pworker: resumes from .*/cut.half.cut-[0-9a-f]*-0000-[0-9]*.safetensors$' \
		"the job goes on from the cut before"
	ok "all weights have the bits of the undisturbed job" same_bits
	ok "nothing of the unfinished cut is left" test "$(cuts)" -eq 0
	rm -f ./*.safetensors

	# Servers that die with the memory of all of them: dlaunch starts the job again, from the cut.
	start again.whole -- "$@" --batch 20 --steps 99
	ends 0
	start again --restart 1 --respawn 0 -- "$@" --batch 20 --steps 99 --cut 1
	until servers=$(real_process --server 0; real_process --server 1); [ "$(wc -w <<<"$servers")" -eq 2 ] || ! kill -0 "$pid"; do
		read -rt 0.02 <> <(:) || :
	done
	until compgen -G 'again.cut-*.manifest' >/dev/null || ! kill -0 "$pid"; do read -rt 0.02 <> <(:) || :; done
	# shellcheck disable=SC2086
	kill -9 $servers
	ok "a job whose servers all die is started again" ends 0
	like "$T/err" '^worker 0: pworker: resumes from .*/again.cut-[0-9a-f]*-0000-[0-9]*.safetensors$' \
		"the restarted job goes on from a cut"
	ok "the weights of the restarted job have the bits of the undisturbed job" \
		cmp again.whole-0000-000099.safetensors again-0000-000099.safetensors

	# Cuts of another directory, of which the newest is not as it was written.
	mkdir cuts
	set -- pworker "$@" --batch 100 --seed 7 --save one
	ok "an undisturbed run of one process" "$@" --steps 39
	mv one-0000-000039.safetensors whole
	rm -f one-*
	"$@" --epochs 1000 --cut 3 --cut-dir cuts >/dev/null 2>&1 & pid=$!
	until [ "$(find cuts -name '*.manifest' | wc -l)" -ge 2 ]; do kill -0 $pid || break; read -rt 0.02 <> <(:) || :; done
	kill -9 $pid
	wait $pid 2>/dev/null
	old=$(ls cuts/*.manifest | sed -n 1p) new=$(ls cuts/*.manifest | sed -n 2p)
	old=${old%.manifest} new=${new%.manifest}
	cp -r cuts kept
	printf xxxx | dd of="$new" bs=1 seek=2000 conv=notrunc 2>/dev/null
	status 0 "a run goes on from the older cut if the newest is damaged" "$@" --steps 39 --cut-dir cuts --resume-last
	like "$T/err" "^pworker: $new: is damaged: it does not fit its manifest; it is not used$" "the run reports the damaged cut"
	like "$T/err" "^pworker: resumes from $old$" "the run reports the older cut"
	ok "the weights from the older cut have the bits of an undisturbed run" cmp whole one-0000-000039.safetensors
	is "$(ls cuts)" "" "the run leaves no cut"

	# What does not go on from cuts leaves them, unless it begins anew.
	rm -f one-*
	cp kept/* cuts
	status 0 "a run with another seed by mistake starts from the beginning" "$@" --seed 8 --steps 1 --cut-dir cuts --resume-last
	like "$T/err" "^pworker: $new: is of a run with another net, .*; it is not used$" "a run with another seed refuses the cuts"
	is "$(ls cuts)" "$(ls kept)" "a run with another seed does not remove the cuts"
	rm -f one-*
	status 0 "a run with --drop-last starts from the beginning" "$@" --drop-last --steps 1 --cut-dir cuts --resume-last
	like "$T/err" "^pworker: $new: is of a run with another net, .*; it is not used$" "a run with --drop-last refuses the cuts"
	rm -f one-*
	at=${new##*-} at=$((10#${at%%.*}))
	status 0 "a run that ends with a cut, and writes no checkpoint" "$@" --steps "$at" --cut-dir cuts --resume-last
	is "$(ls cuts)" "$(ls kept)" "the run that ends with a cut keeps the cuts"
	status 0 "a run without cuts goes on from one" "$@" --steps 39 --cut 0 --cut-dir cuts --resume-last
	like "$T/err" "^pworker: resumes from $new$" "the run without cuts reports which"
	ok "the weights of the run without cuts have the bits of an undisturbed run" cmp whole one-0000-000039.safetensors
	cp kept/* cuts
	status 0 "a run without cuts begins anew" "$@" --steps 1 --cut 0 --cut-dir cuts
	is "$(ls cuts)" "" "the run that begins anew removes the cuts"
	status 2 "the name of a cut is refused for checkpoints" "$@" --save net.cut-1
	like "$T/err" "^pworker: --save: net.cut-1: a name with '.cut-' is that of a cut$" "the line says so"
	rm -r kept
else
	skip "lenet: killed jobs" "$WHY"
fi
if have cifar; then
	KILLS=1 check inception 1250 --net inception --data "$CIFAR_TEST" --rand-crop --rand-mirror --batch 4 --steps 40 --cut 3
else
	skip "inception: killed jobs" "$WHY"
fi
done_testing
