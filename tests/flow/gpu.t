# gpu.t - the GPU's engine in whole jobs: on a GPU where there is one, and its plans and steps on the CPU anywhere.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1

pictures images 40 1 && im2rec images >a.rec || exit 1
train() { pworker --data a.rec --seed 5 --lr 0.05 "$@"; }
losses() { awk -F'\t' '$5 == "epoch" { print $9 }' "$1"; }	# LOG
# What an engine says of each epoch, beside ref's: within a part in a hundred.
alike() { paste "$1" "$2" | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 0.01 * $2 + 1e-6) bad = 1 } END { exit bad || !NR }'; }

status 0 "ref trains" train --net lenet --batch 20 --epochs 3 --engine ref
losses "$T/out" >ref
if [ -e "$BUILD/tests/emu/tally-cuda.so" ]; then
	export TALLY_MODULES=$BUILD/tests/emu
	status 0 "the engine cuda without a GPU" train --net lenet --batch 20 --epochs 3 --engine cuda --save a
	losses "$T/out" >cuda
	ok "... learns what ref learns" alike cuda ref
	# There copies of batches go up as late as they may; TALLY_EMU=early: beside what the device still has to do.
	export TALLY_EMU=early
	status 0 "... again" train --net lenet --batch 20 --epochs 3 --engine cuda --save b
	unset TALLY_EMU
	ok "... and has the same bits" cmp a-0003.safetensors b-0003.safetensors
	like "$T/out" 'engine=cuda .*_optimizer_there' "... where weights and optimizer stay with the engine"
	status 0 "... from a checkpoint" train --net lenet --batch 20 --epochs 3 --engine cuda --resume a-0001.safetensors --save c
	ok "... to the same bits, the optimizer's state counted" cmp a-0003.safetensors c-0003.safetensors
	status 0 "... in bf16, with a worker and a server" dlaunch -n 1 -s 1 -x TALLY_MODULES pworker --data a.rec --seed 5 --net lenet \
		--batch 20 --steps 4 --engine cuda --dtype bf16

	# What the device did when: a row for each of its streams, beside those of the host.
	spans() { # FILE ROW NAME
		grep "\"ph\":\"X\",\"name\":\"$3" "$1" | grep -c "\"tid\":$(
			sed -n "s/.*\"thread_name\".*\"tid\":\([0-9]*\),\"args\":{\"name\":\"$2\"}.*/\1/p" "$1"),"
	}
	status 0 "a time line" train --net lenet --batch 10 --epochs 1 --engine cuda --trace line.json:2-3
	is "$(spans line.json gpu:0 'forward and loss') $(spans line.json gpu:0 optimizer) $(spans line.json 'gpu:0 up' 'batch up')" \
		"2 2 2" "... has what the device did in two steps"
	back=$(spans line.json gpu:0 'backward ')
	ok "... backward by slices" test "$back" -ge 4
	status 0 "... with a worker and a server" dlaunch -n 1 -s 1 -x TALLY_MODULES pworker --data a.rec --seed 5 --net lenet \
		--batch 10 --epochs 1 --engine cuda --trace line.json:2-3
	is "$(spans line.json 'gpu:0 down' 'gradients of ')" "$back" "... each slice's gradients come down"

	# Kernels: of three that the loops propose the second is the fastest with sums in one order, the third in any.
	kernels() { env XDG_CACHE_HOME="$T/cache" TALLY_EMU_RACES="$T/races" pworker --net lenet --print --batch 20 --engine cuda "$@" |
		sed -n 's/^conv2 backward data loops //p'; }
	ran() { wc -l <"$T/races"; }
	is "$(kernels)" 1 "the library's first is taken"
	is "$(kernels --deterministic)" 1 "... and with --deterministic"
	ok "... without a race" test ! -e races -a ! -e cache
	is "$(kernels --autotune --deterministic)" "2 0=1 3=-1" "--autotune takes the fastest of those with one order"
	is "$(kernels --autotune)" 3 "... and without --deterministic of all"
	is "$(ran)" 25 "... by races of five convolutions"
	is "$(kernels --autotune --deterministic)" "2 0=1 3=-1" "... again"
	is "$(ran)" 25 "... without a race"
	is "$(grep -c "^no GPU but loops	" cache/tally/cuda-autotune.tsv)" 10 "... by what is kept: a line a choice"
	is "$(kernels --autotune --dtype bf16)" 3 "another precision"
	is "$(ran)" 40 "... races for itself"
	sed -i 's/	2 0=1 3=-1$/	7/; $aa line of somebody else' cache/tally/cuda-autotune.tsv
	is "$(kernels --autotune --deterministic 2>err)" "2 0=1 3=-1" "a choice that the library has no more"
	is "$(ran)" 50 "... is raced again"
	is "$(cat err)" "pworker: $T/cache/tally/cuda-autotune.tsv: 1 lines are no choices of kernels, and are passed over" \
		"... and a line that is none is told"
	is "$(kernels --autotune --deterministic 2>&1)" "2 0=1 3=-1" "... once"
	status 0 "a run that says so" env XDG_CACHE_HOME="$T/cache" pworker --data a.rec --seed 5 --lr 0.05 --net lenet --batch 20 \
		--epochs 3 --engine cuda --deterministic --autotune --save d
	like "$T/out" ',_f32,_deterministic,_autotune,' "... in its log"
	ok "... has the bits of the others" cmp <(tail -c 40000 a-0003.safetensors) <(tail -c 40000 d-0003.safetensors)
	ln -s /dev/null/none none
	is "$(XDG_CACHE_HOME=$T/none pworker --net lenet --print --batch 20 --engine cuda --autotune 2>&1 |
		grep -c '^pworker: --autotune: choices are not kept: ')" 1 "a folder that cannot be made is told"
	status 2 "no folder at all" env -u HOME -u XDG_CACHE_HOME pworker --net lenet --print --autotune

	# Two devices in one worker: their sums are NCCL's where there is one, and the host's where there is none.
	two() { timeout 300 pworker --data a.rec --seed 5 --lr 0.05 --net lenet --batch 16 --epochs 2 "$@"; }
	tensors() { tail -c +$((9 + $(od -An -tu8 -N8 "$1"))) "$1"; }
	export TALLY_EMU=early
	status 0 "one device, pieces" two --batch 8 --accumulate 2 --engine cuda --save one
	status 0 "... in f16" two --batch 8 --accumulate 2 --engine cuda --dtype f16 --save one16
	unset TALLY_EMU
	export LD_LIBRARY_PATH=$BUILD/tests/stub
	status 0 "two devices" two --devices gpu:0,gpu:1 --save two
	like "$T/out" ',_NCCL_2\.28\.9' "... with NCCL"
	is "$(awk -F'\t' '$5 == "load" && $23 != "" { print $6, $23, ($24 >= 0.2 && $24 <= 0.7 ? "busy" : $24), $25 }' "$T/out" |
		head -n 4 | paste -sd,)" "0 gpu:0 busy 1000000000,0 gpu:1 busy 1000000001,1 gpu:0 busy 1000000000,1 gpu:1 busy 1000000001" \
		"... each one's load in the log"
	is "$(grep -c 'added up on the host' "$T/err")" 0 "... and no word of the host"
	ok "... the same bytes, a step of few pictures too" cmp <(tensors one-0002.safetensors) <(tensors two-0002.safetensors)
	status 0 "... in f16" two --devices gpu:0,gpu:1 --dtype f16 --save two16
	ok "... the same bytes" cmp <(tensors one16-0002.safetensors) <(tensors two16-0002.safetensors)
	export TALLY_EMU=early
	status 0 "... batches up early" two --devices gpu:0,gpu:1 --save early
	unset TALLY_EMU
	ok "... the same bytes" cmp <(tensors one-0002.safetensors) <(tensors early-0002.safetensors)
	status 0 "two workers of two devices" dlaunch -n 2 -s 1 -x TALLY_MODULES -x LD_LIBRARY_PATH pworker --data a.rec \
		--net lenet --batch 8 --steps 2 --devices gpu:0,gpu:1
	status 1 "a sum that fails" env TALLY_NCCL=3 pworker --data a.rec --net lenet --batch 8 --devices gpu:0,gpu:1 --steps 4
	is "$(tail -n 1 "$T/err")" "pworker: NCCL: a sum: unhandled cuda error" "... ends the run with its reason"
	status 0 "no NCCL" env TALLY_NCCL=start timeout 300 pworker --data a.rec --seed 5 --lr 0.05 --net lenet --batch 16 --epochs 2 \
		--devices gpu:0,gpu:1 --save host
	is "$(grep -c 'pworker: gradients of several devices are added up on the host: NCCL: its start' "$T/err")" 1 "... is said once"
	ok "... the same bytes" cmp <(tensors one-0002.safetensors) <(tensors host-0002.safetensors)
	unset LD_LIBRARY_PATH
	# Pictures on the device: cut, mirrored and made numbers of there.
	for how in "--rand-crop --rand-mirror --pad 3 --fill-value 9 --mean-rgb 120,110,100 --std-rgb 60,61,62" \
		"--alt-mirror --mean mean.bin"; do
		for at in ram device; do
			# shellcheck disable=SC2086
			status 0 "pictures in the memory of: $at" pworker --data a.rec --val a.rec --seed 5 --net lenet --shape 3x24x24 \
				--lr 0.05 --batch 16 --epochs 2 --engine cuda --cache $at --save $at $how
			losses "$T/out" >$at.losses
		done
		ok "... the same losses" cmp ram.losses device.losses
		ok "... the same bytes, $how" cmp <(tensors ram-0002.safetensors) <(tensors device-0002.safetensors)
	done
	for at in ram device; do
		status 0 "a net whose first weights are made of pictures, in the memory of: $at" pworker --data a.rec --seed 5 --net fast \
			--shape 3x24x24 --rand-crop --rand-mirror --pad 3 --lr 0.01 --batch 4 --steps 1 --engine cuda --cache $at --save $at
	done
	ok "... the same bytes" cmp <(tensors ram-0000-000001.safetensors) <(tensors device-0000-000001.safetensors)
	LD_LIBRARY_PATH=$BUILD/tests/stub status 0 "... on two devices" two --devices gpu:0,gpu:1 --cache device --save held
	ok "... the same bytes" cmp <(tensors one-0002.safetensors) <(tensors held-0002.safetensors)
	small="pworker --data a.rec --net lenet --batch 64 --engine cuda --steps 1"
	TALLY_EMU_MB=1 $small 2>"$T/err"
	takes=$(sed -n 's/.* a batch of 64 takes \([0-9.]*\) MB.*/\1/p' "$T/err")
	status 1 "more pictures than the device has memory" env TALLY_EMU_MB="${takes}5" $small --cache device
	like "$T/err" '^pworker: GPU 0: the pictures take [0-9.]* MB of its memory, and 0\.[01] of [0-9.]* are free$' \
		"... is refused, numbers named"
	status 2 "a processor" pworker --data a.rec --net lenet --cache device --steps 1
	like "$T/err" '^pworker: --cache device: cpu computes where the pictures are: take --cache ram$' "... has no memory of its own"
	status 2 "a device and a processor" pworker --data a.rec --net lenet --cache device --devices gpu:0,cpu:0
	status 2 "other pixels" pworker --data a.rec --net lenet --cache device --engine cuda --resize 30
	status 1 "a batch that does not fit" env TALLY_EMU_MB=10 $small
	like "$T/err" '^pworker: GPU 0: a batch of 64 takes [0-9.]* MB of its memory, and 10\.0 of 10\.0 are free$' \
		"... is refused likewise"
	is "$(grep -vc '^#' "$T/out")" 0 "... before a step"
	status 1 "no device" env TALLY_EMU=none pworker --data a.rec --net lenet --engine cuda --steps 1
	like "$T/err" '^pworker: .*no GPU: no device$' "... is one line"
else
	skip "the engine cuda without a GPU" "this build has none"
fi

export TALLY_MODULES=$T
status 1 "no module" pworker --data a.rec --net lenet --engine cuda --steps 1
like "$T/err" '^pworker: .*no GPU: no module tally-cuda.so in ' "... is one line"
is "$(wc -l <"$T/err")" 1 "... and no more"

export TALLY_MODULES=$BUILD
if pworker --net lenet --print --batch 4 --engine cuda >/dev/null 2>why; then
	for net in lenet inception; do
		status 0 "$net on the GPU" train --net $net --shape 3x28x28 --batch 20 --epochs 3 --engine cuda
		losses "$T/out" >$net.gpu
		train --net $net --shape 3x28x28 --batch 20 --epochs 3 --engine ref >"$T/out" 2>/dev/null
		losses "$T/out" >$net.ref
		ok "... learns what ref learns" alike $net.gpu $net.ref
	done
else
	skip "lenet and inception on the GPU" "$(sed -n 's/.*\(no GPU.*\)/\1/p' why)"
fi
done_testing
