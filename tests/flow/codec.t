# codec.t - jobs whose gradients and weights are rounded in messages: their bits, bytes, accuracy and deaths.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/flow/data.sh"
. "$TOP/tests/flow/killed.sh"
export OMP_NUM_THREADS=1 PATH=$BUILD/share/demo:$PATH
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT
cd "$T" || exit 1
pictures train 32 1 >out 2>&1 && im2rec train >train.rec 2>err || { cat out err; tap 1 "the records are packed"; done_testing; }
job="pworker --net mlp --data train.rec --batch 32 --seed 3"

# moved FILE CLASS: the bytes of a kind that the workers logged.
moved() {
	awk -F '\t' -v class="$2" '$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["role"] == "worker" && $at["event"] == "traffic" && $at["class"] == class { n += $at["rx_bytes"] + $at["tx_bytes"] }
		END { printf "%d\n", n }' "$1"
}
# fractions FILE: how many weights have bits that bf16 lacks.
fractions() { pmerge --no-state "$1" >weights.safetensors && tensors weights.safetensors | od -An -v -tx4 -w4 | grep -vc "0000$"; }

for codec in f32 bf16 fp16 2bit topk:0.05 powersgd:2; do
	status 0 "$codec: a job of 2 workers and 2 servers exits with 0" \
		dlaunch -n 2 -s 2 $job --codec $codec --epochs 2 --save $codec
	mv out $codec.log
done
status 0 "a job without a codec exits with 0" dlaunch -n 2 -s 2 $job --epochs 2 --save none
ok "f32 has its bits" cmp f32-0002.safetensors none-0002.safetensors
for codec in bf16 fp16; do
	for class in gradients weights; do
		is "$(moved $codec.log $class)" $(($(moved f32.log $class) / 2)) "$codec: $class take half of the bytes"
	done
done
# The first weights, and what few arrays have, is more than a part of the bytes.
for codec in 2bit topk:0.05 powersgd:2; do
	for class in gradients weights; do
		ok "$codec: $class take less than a ninth of the bytes: $(moved $codec.log $class)" \
			test $((9 * $(moved $codec.log $class))) -lt "$(moved f32.log $class)"
	done
done
for codec in bf16 fp16 2bit topk:0.05 powersgd:2; do
	how=$([ $codec = bf16 ] && echo tcp || echo auto)
	status 0 "$codec: the job runs again, TALLY_TRANSPORT=$how" \
		env TALLY_TRANSPORT=$how dlaunch -n 2 -s 2 $job --codec $codec --epochs 2 --save again
	ok "$codec: the job that ran again has the same bits" cmp $codec-0002.safetensors again-0002.safetensors
	ok "$codec: the bits are others than of f32" \
		test "$(cmp f32-0002.safetensors $codec-0002.safetensors | wc -l)" -eq 1
done
ok "a checkpoint has the weights of the servers, which are not rounded" test "$(fractions bf16-0002.safetensors)" -gt 10000
status 0 "a job goes on from it" dlaunch -n 2 -s 2 $job --codec bf16 --epochs 3 --resume bf16-0002.safetensors --save more
status 0 "arrays have codecs of their own, and frozen ones have none" \
	dlaunch -n 2 -s 2 $job --codec bf16 --codec '*_bias=f32' --codec 'fc2*=fp16' --freeze 'fc1_*' --epochs 1 --save parts
mv out parts.log
is "$(moved parts.log bf16)" "$(($(moved parts.log gradients) + $(moved parts.log weights) - $(moved parts.log fp16) -
	$(moved parts.log f32)))" "the log has the bytes of each codec"
ok "fp16 has bytes of its own" test "$(moved parts.log fp16)" -gt 0 -a "$(moved parts.log f32)" -gt 0
is "$(moved f32.log f32)" 0 "where all is f32 it does not repeat them"
status 0 "a job without codecs freezes arrays" dlaunch -n 2 -s 2 $job --freeze 'fc1_*' --epochs 1
ok "half of the bytes of an array with a codec are saved, and none of others" \
	test "$(moved parts.log gradients)" -lt $(($(moved out gradients) * 52 / 100)) -a \
	"$(moved parts.log gradients)" -gt $(($(moved out gradients) / 2))
for how in f32 bf16 topk; do
	status 0 "$how: a job that is not synchronous exits with 0" \
		dlaunch -n 2 -s 2 $job --codec $how --async --epochs 1 --save async
	mv out async-$how.log
done
is "$(moved async-topk.log weights)" "$(moved async-bf16.log weights)" "topk: its weights are bf16"
is "$(moved async-bf16.log gradients)" $(($(moved async-f32.log gradients) / 2)) "bf16: gradients of such a job take half of the bytes"
ok "bf16: the checkpoint of such a job has weights that are not rounded" test "$(fractions async-0001.safetensors)" -gt 10000
status 0 "f32 needs no servers" $job --codec f32 --steps 1

# plain OPTION OPTION: a server and two workers without a key, each with its options; their pids are in $pids.
plain() {
	pids=()
	rm -f at
	mkfifo at
	pserver --listen 127.0.0.1:0 --workers 2 --plain --ready-fd 9 9>at >server.log 2>server.err & pids+=($!)
	read -r where <at
	for w in 0 1; do
		# shellcheck disable=SC2086
		$job --plain --servers "$where" --worker $w/2 $1 --epochs 2 >$w.log 2>>plain.err & pids+=($!)
		shift
	done
}
status 0 "a job with one server exits with 0" dlaunch -n 2 -s 1 $job --codec bf16 --epochs 2 --save one
plain "--codec bf16 --save plain" "--codec bf16"
statuses=
for p in "${pids[@]}"; do wait "$p"; statuses+=" $?"; done
is "$statuses" " 0 0 0" "a job without a key exits with 0"
ok "a job without a key has the bits of a job with a key" cmp one-0002.safetensors plain-0002.safetensors
plain "--codec bf16" "--codec fp16"
ok "workers that disagree are refused with one line" \
	line_of plain.err 'groups is codec:\*=[bf][fp]16 here and codec:\*=[bf][fp]16 there$' 1
kill "${pids[@]}" 2>/dev/null
wait
status 2 "an unknown codec is refused" $job --codec f8
like err "^pworker: --codec: 'f8' is not CODEC or PATTERN=CODEC; codecs are f32, bf16, fp16, 2bit\[:T\], topk\[:X\] and powersgd" \
	"the line has the names of all"
status 2 "a rank that is no whole number is refused" $job --codec powersgd:4.5
like err "^pworker: --codec: 'powersgd:4.5' is not .* powersgd\[:R\] with a whole number R up to 64$" "the line says what a rank is"
status 2 "a codec without servers is refused" $job --codec bf16
like err "^pworker: --codec: needs --servers$" "the line names what it needs"
status 2 "a pattern that matches nothing is refused" dlaunch -n 1 -s 1 $job --codec 'conv*=bf16'
like err "pworker: .*--codec: 'conv\*' is the name of no array of the net" "the line names the pattern"

if have mnist; then
	set -- --net lenet --data "$MNIST_TEST" --scale 0.00390625 --lr 0.05 --batch 16
	# ends_killed NAME: what the kills of the job before cost.
	ends_killed() {
		ok "$1: the job ends well" ends 0
		like "$T/err" 'was started again' "$1: dlaunch reports it"
		ok "$1: the weights have the bits of the undisturbed job" \
			cmp whole-0000-000080.safetensors "$1-0000-000080.safetensors"
	}
	# find_processes "ROLE RANK"...: waits until they run; their pids are in $found.
	find_processes() {
		local who
		found=
		for who; do
			until found+=" $(real_process --${who% *} "${who#* }")"; [ -n "${found##* }" ] || ! kill -0 "$pid"; do
				read -rt 0.02 <> <(:) || :
			done
		done
	}
	killed=(--codec 'conv*=bf16' --codec 'fc*=topk:0.02' --codec 'fc1_weight=powersgd')
	start whole -- "$@" "${killed[@]}" --frequent 10 --steps 80
	ok "an undisturbed job ends well" ends 0
	for role in worker server; do
		start $role -- "$@" "${killed[@]}" --frequent 10 --steps 80
		find_processes "$role 1"
		line_of "$T/err" 'Speed' 2 "$pid"
		kill -9 $found
		ends_killed $role
	done
	start both -- "$@" "${killed[@]}" --frequent 10 --steps 80
	find_processes "worker 0" "server 0"
	line_of "$T/err" 'Speed' 2 "$pid"
	# shellcheck disable=SC2086
	kill -9 $found
	ends_killed both
	for codec in f32 bf16 fp16 2bit topk:0.05 powersgd; do
		start acc-$codec -- "$@" --codec $codec --val "$MNIST_PART" --epochs 1
		ends 0 || cat "$T/err"
		eval "with_${codec%:*}=$(awk -F '\t' '$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
			$at["event"] == "validation" { right = int(10000 * $at["accuracy"]) } END { print right }' "$T/acc-$codec.log")"
	done
	for codec in bf16 fp16 2bit topk powersgd; do
		as=with_$codec
		ok "$codec: the net learns as with f32: ${!as}, $with_f32 of 10000" test "${!as}" -gt 9000 -a "$with_f32" -gt 9000
	done
else
	skip "lenet: killed processes and accuracy" "$WHY"
fi
done_testing
