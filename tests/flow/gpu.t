# gpu.t - the GPU's engine in whole jobs: on a GPU where there is one, and its plans and steps on the CPU anywhere.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
export OMP_WAIT_POLICY=passive	# as tests/run says
cd "$T" || exit 1

pictures images 40 1 && im2rec images >a.rec || exit 1
train() { pworker --data a.rec --seed 5 --lr 0.05 "$@"; }
losses() { awk -F'\t' '$5 == "epoch" { print $9 }' "$1"; }	# LOG
# The losses of two logs differ by at most one hundredth.
alike() { paste "$1" "$2" | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 0.01 * $2 + 1e-6) bad = 1 } END { exit bad || !NR }'; }

status 0 "ref trains" train --net lenet --batch 20 --epochs 3 --engine ref
losses "$T/out" >ref
if [ -e "$BUILD/tests/emu/tally-cuda.so" ]; then
	export TALLY_MODULES=$BUILD/tests/emu
	status 0 "cuda trains without a GPU" train --net lenet --batch 20 --epochs 3 --engine cuda --save a
	losses "$T/out" >cuda
	cp "$T/out" cuda.log && cp "$T/err" cuda.err
	ok "cuda learns what ref learns" alike cuda ref
	# The emulated device copies batches as late as allowed; with TALLY_EMU=early, before its earlier work.
	export TALLY_EMU=early
	status 0 "cuda trains again, with early copies" train --net lenet --batch 20 --epochs 3 --engine cuda --save b
	unset TALLY_EMU
	ok "early copies give the same bits" cmp a-0003.safetensors b-0003.safetensors
	like "$T/out" 'engine=cuda .*_optimizer_there' "the log says that the optimizer runs on the device"
	status 0 "cuda resumes from a checkpoint" \
		train --net lenet --batch 20 --epochs 3 --engine cuda --resume a-0001.safetensors --save c
	ok "the resumed run has the same bits, with the optimizer's state" cmp a-0003.safetensors c-0003.safetensors
	status 0 "cuda trains in bf16 with a worker and a server" \
		dlaunch -n 1 -s 1 -x TALLY_MODULES pworker --data a.rec --seed 5 --net lenet \
		--batch 20 --steps 4 --engine cuda --dtype bf16

	# The line on kernels and graphs: a comment of the log, and a message.
	line='kernels: loops 1 for 5, cuBLASLt for 6; CUDA graphs: '
	like cuda.log "^# ${line}[3-9] captured, 0 refused\$" "the log has the chosen kernels and the CUDA graphs"
	like cuda.err "^pworker: ${line}[3-9] captured, 0 refused\$" "a message has them too"
	is "$(grep -c 'kernels: ' cuda.log)$(grep -c 'kernels: ' cuda.err)" 11 "kernels are reported once in a run"
	status 0 "cuda trains if the device captures no graph" \
		env TALLY_EMU=nograph pworker --data a.rec --seed 5 --lr 0.05 --net lenet --batch 20 --epochs 3 --engine cuda
	like "$T/out" "^# ${line}0 captured, [3-9] refused, whose kernels are launched one by one\$" \
		"the log has the number of refused graphs"
	like "$T/err" "^pworker: ${line}0 captured, [3-9] refused, whose kernels are launched one by one\$" \
		"a message has the number of refused graphs"

	# A trace has a row for each stream of the device, besides those of the host.
	spans() { # FILE ROW NAME
		grep "\"ph\":\"X\",\"name\":\"$3" "$1" | grep -c "\"tid\":$(
			sed -n "s/.*\"thread_name\".*\"tid\":\([0-9]*\),\"args\":{\"name\":\"$2\"}.*/\1/p" "$1"),"
	}
	status 0 "cuda writes a trace" train --net lenet --batch 10 --epochs 1 --engine cuda --trace line.json:2-3
	is "$(spans line.json gpu:0 'forward and loss') $(spans line.json gpu:0 optimizer) $(spans line.json 'gpu:0 up' 'batch up')" \
		"2 2 2" "the trace has the device's work of two steps"
	is "$(spans line.json gpu:0 'backward ')" 2 "the trace has one backward pass a step if the device learns"
	status 0 "a worker with a server writes a trace" \
		dlaunch -n 1 -s 1 -x TALLY_MODULES pworker --data a.rec --seed 5 --net lenet \
		--batch 10 --epochs 1 --engine cuda --trace line.json:2-3
	back=$(spans line.json gpu:0 'backward ')
	ok "the trace has the backward pass by slices" test "$back" -ge 4
	is "$(spans line.json 'gpu:0 down' 'gradients of ')" "$back" "the trace has the copy of each slice's gradients"

	# The emulator offers three kernels: the second is the fastest deterministic one, the third the fastest of all.
	kernels() { env XDG_CACHE_HOME="$T/cache" TALLY_EMU_RACES="$T/races" pworker --net lenet --print --batch 20 --engine cuda "$@" |
		sed -n 's/^conv2 backward data loops //p'; }
	ran() { wc -l <"$T/races"; }
	is "$(kernels)" 1 "the library's first kernel is chosen by default"
	is "$(kernels --deterministic)" 1 "--deterministic chooses the library's first kernel"
	ok "the default choice runs no race and writes no cache" test ! -e races -a ! -e cache
	is "$(kernels --autotune --deterministic)" "2 0=1 3=-1" \
		"--autotune --deterministic chooses the fastest deterministic kernel"
	is "$(kernels --autotune)" 3 "--autotune chooses the fastest kernel of all"
	is "$(ran)" 25 "autotuning races the kernels of five convolutions"
	is "$(kernels --autotune --deterministic)" "2 0=1 3=-1" "a second run chooses the same kernel"
	is "$(ran)" 25 "the second run races nothing"
	is "$(grep -c "^no GPU but loops	" cache/tally/cuda-autotune.tsv)" 10 \
		"the cache has a line for each choice"
	is "$(kernels --autotune --dtype bf16)" 3 "--autotune chooses a kernel in bf16"
	is "$(ran)" 40 "another precision is raced"
	sed -i 's/	2 0=1 3=-1$/	7/; $aa line of somebody else' cache/tally/cuda-autotune.tsv
	is "$(kernels --autotune --deterministic 2>err)" "2 0=1 3=-1" \
		"a cached kernel that the library lacks is replaced"
	is "$(ran)" 50 "a replaced kernel is raced again"
	is "$(cat err)" "pworker: $T/cache/tally/cuda-autotune.tsv: ignores 1 lines that name no kernel" \
		"malformed lines of the cache are counted in one message"
	is "$(kernels --autotune --deterministic 2>&1)" "2 0=1 3=-1" "the rewritten cache is read without a message"
	status 0 "a run trains with --deterministic --autotune" \
		env XDG_CACHE_HOME="$T/cache" pworker --data a.rec --seed 5 --lr 0.05 --net lenet --batch 20 \
		--epochs 3 --engine cuda --deterministic --autotune --save d
	like "$T/out" ',_f32,_deterministic,_autotune,' "the log of that run names both options"
	ok "the weights of the second run have the bits of the first run" \
		cmp <(tail -c 40000 a-0003.safetensors) <(tail -c 40000 d-0003.safetensors)
	ln -s /dev/null/none none
	is "$(XDG_CACHE_HOME=$T/none pworker --net lenet --print --batch 20 --engine cuda --autotune 2>&1 |
		grep -c '^pworker: --autotune: the kernels chosen will not be stored: ')" 1 \
			"a cache folder that cannot be made is reported"
	status 2 "--autotune without HOME is refused" \
		env -u HOME -u XDG_CACHE_HOME pworker --net lenet --print --autotune

	# Two devices in one worker: NCCL adds their gradients, or the host where NCCL is missing.
	two() { timeout 300 pworker --data a.rec --seed 5 --lr 0.05 --net lenet --batch 16 --epochs 2 "$@"; }
	tensors() { tail -c +$((9 + $(od -An -tu8 -N8 "$1"))) "$1"; }
	export TALLY_EMU=early
	status 0 "one device trains with micro-batches" two --batch 8 --accumulate 2 --engine cuda --save one
	status 0 "one device trains with micro-batches in f16" \
		two --batch 8 --accumulate 2 --engine cuda --dtype f16 --save one16
	unset TALLY_EMU
	export LD_LIBRARY_PATH=$BUILD/tests/stub
	status 0 "two devices train" two --devices gpu:0,gpu:1 --save two
	like "$T/out" ',_NCCL_2\.28\.9' "the log names NCCL"
	is "$(awk -F'\t' '$5 == "load" && $23 != "" { print $6, $23, ($24 >= 0.2 && $24 <= 0.7 ? "busy" : $24), $25 }' "$T/out" |
		head -n 4 | paste -sd,)" "0 gpu:0 busy 1000000000,0 gpu:1 busy 1000000001,1 gpu:0 busy 1000000000,1 gpu:1 busy 1000000001" \
		"the log has the load of each device"
	is "$(grep -c 'added up on the host' "$T/err")" 0 "no message says that the host adds"
	ok "two devices have the bytes of one, also with a short last step" \
		cmp <(tensors one-0002.safetensors) <(tensors two-0002.safetensors)
	status 0 "two devices train in f16" two --devices gpu:0,gpu:1 --dtype f16 --save two16
	ok "two devices in f16 have the bytes of one" \
		cmp <(tensors one16-0002.safetensors) <(tensors two16-0002.safetensors)
	export TALLY_EMU=early
	status 0 "two devices train with early copies" two --devices gpu:0,gpu:1 --save early
	unset TALLY_EMU
	ok "early copies on two devices give the same bytes" \
		cmp <(tensors one-0002.safetensors) <(tensors early-0002.safetensors)
	mkdir -p first/class && cp "$(find images -type f | sort | head -n 1)" first/class/ && im2rec -q first >first.rec
	status 0 "two devices train with a first batch of one image" \
		timeout 300 pworker --data first.rec --net lenet --batch 4 --steps 1 --classes 10 --devices gpu:0,gpu:1
	status 0 "two workers train on two devices each" \
		dlaunch -n 2 -s 1 -x TALLY_MODULES -x LD_LIBRARY_PATH pworker --data a.rec \
		--net lenet --batch 8 --steps 2 --devices gpu:0,gpu:1
	status 1 "a failing NCCL sum ends the run" \
		env TALLY_NCCL=3 pworker --data a.rec --net lenet --batch 8 --devices gpu:0,gpu:1 --steps 4
	is "$(tail -n 1 "$T/err")" "pworker: NCCL: a sum: unhandled cuda error" "the error gives NCCL's reason"
	# A device is lost at a wait for it, while the other one waits for it in a sum.
	for how in "pworker --dtype f32" "pworker --dtype f16" "dlaunch --respawn 0 -n 1 -s 1 -x TALLY_MODULES -x LD_LIBRARY_PATH \
		-x TALLY_EMU_LOST pworker"; do
		# shellcheck disable=SC2086
		status 1 "a lost device ends the run: ${how%% -n*}" \
			env TALLY_EMU_LOST=28 $how --data a.rec --net lenet --batch 2 --devices gpu:0,gpu:1 --steps 50
		like "$T/err" 'pworker: GPU 1: its work: unspecified launch failure$' "the error names the lost device"
	done
	status 0 "two devices train without NCCL" \
		env TALLY_NCCL=start timeout 300 pworker --data a.rec --seed 5 --lr 0.05 --net lenet --batch 16 --epochs 2 \
		--devices gpu:0,gpu:1 --save host
	is "$(grep -c 'pworker: gradients of several devices are added up on the host: NCCL: its start' "$T/err")" 1 \
		"one message says that the host adds, and why"
	ok "sums of the host give the same bytes" cmp <(tensors one-0002.safetensors) <(tensors host-0002.safetensors)
	unset LD_LIBRARY_PATH
	# Images in the device's memory, which the device crops, mirrors and normalizes.
	for how in "--rand-crop --rand-mirror --pad 3 --fill-value 9 --mean-rgb 120,110,100 --std-rgb 60,61,62" \
		"--rand-crop --alt-mirror --pad 3 --pad-reflect --mean mean.bin"; do
		for at in ram device; do
			# shellcheck disable=SC2086
			status 0 "a run caches images in memory: $at" \
				pworker --data a.rec --val a.rec --seed 5 --net lenet --shape 3x24x24 \
				--lr 0.05 --batch 16 --epochs 2 --engine cuda --cache $at --save $at $how
			losses "$T/out" >$at.losses
		done
		ok "images cached on the device give the same losses" cmp ram.losses device.losses
		ok "images cached on the device give the same bytes, $how" \
			cmp <(tensors ram-0002.safetensors) <(tensors device-0002.safetensors)
	done
	for border in "--fill-value 9" --pad-reflect; do
		for at in ram device; do
			# shellcheck disable=SC2086
			status 0 "a net initialized from images trains, cached in memory: $at" \
				pworker --data a.rec --seed 5 --net fast --shape 3x24x24 --rand-crop --rand-mirror --pad 3 $border \
				--lr 0.01 --batch 4 --steps 1 --engine cuda --cache $at --save $at
		done
		ok "a net initialized from images has the same bytes, $border" \
			cmp <(tensors ram-0000-000001.safetensors) <(tensors device-0000-000001.safetensors)
	done
	LD_LIBRARY_PATH=$BUILD/tests/stub status 0 "two devices train from cached images" \
		two --devices gpu:0,gpu:1 --cache device --save held
	ok "two devices with cached images have the bytes of one" \
		cmp <(tensors one-0002.safetensors) <(tensors held-0002.safetensors)
	pictures many 800 1 && im2rec -q many >many.rec || exit 1
	small="pworker --data many.rec --net lenet --batch 64 --engine cuda --steps 1"
	TALLY_EMU_MB=1 $small 2>"$T/err"
	takes=$(sed -n 's/.* a batch of 64 takes \([0-9.]*\) MB.*/\1/p' "$T/err")
	room=$(awk -v mb="$takes" 'BEGIN { print mb + 0.45 }')	# the libraries' scratch is not in it
	status 1 "images that exceed the device's memory are refused" env TALLY_EMU_MB="$room" $small --cache device
	like "$T/err" '^pworker: GPU 0: the images take 0\.8 MB of its memory, and 0\.[0-4] of [0-9.]* are free$' \
		"the error gives the sizes of the images and of the memory"
	status 2 "--cache device is refused on a CPU" pworker --data a.rec --net lenet --cache device --steps 1
	like "$T/err" '^pworker: --cache device: cpu has no memory of its own; use --cache ram$' \
		"the error proposes --cache ram"
	status 2 "--cache device is refused on a GPU and a CPU" \
		pworker --data a.rec --net lenet --cache device --devices gpu:0,cpu:0
	status 2 "--cache device is refused with --resize" \
		pworker --data a.rec --net lenet --cache device --engine cuda --resize 30
	status 1 "a batch that exceeds the device's memory is refused" env TALLY_EMU_MB=10 $small
	like "$T/err" '^pworker: GPU 0: a batch of 64 takes [0-9.]* MB of its memory, and 10\.0 of 10\.0 are free$' \
		"the error gives the sizes of the batch and of the memory"
	is "$(grep -vc '^#' "$T/out")" 0 "the batch is refused before the first step"
	status 1 "a run without a device fails" \
		env TALLY_EMU=none pworker --data a.rec --net lenet --engine cuda --steps 1
	like "$T/err" '^pworker: .*no GPU: no device$' "the error says that there is no device"
else
	skip "the engine cuda without a GPU" "this build has none"
fi

export TALLY_MODULES=$T
status 1 "a run without the cuda module fails" pworker --data a.rec --net lenet --engine cuda --steps 1
like "$T/err" '^pworker: .*no GPU: no module tally-cuda.so in ' "the error names the missing module"
is "$(grep -vc ': images have \|: of images of ' "$T/err")" 1 "the error is one line, after those on the images"

export TALLY_MODULES=$BUILD
if pworker --net lenet --print --batch 4 --engine cuda >/dev/null 2>why; then
	for net in lenet inception; do
		status 0 "$net trains on the GPU" train --net $net --shape 3x28x28 --batch 20 --epochs 3 --engine cuda
		losses "$T/out" >$net.gpu
		train --net $net --shape 3x28x28 --batch 20 --epochs 3 --engine ref >"$T/out" 2>/dev/null
		losses "$T/out" >$net.ref
		ok "$net learns on the GPU what ref learns" alike $net.gpu $net.ref
	done
else
	skip "lenet and inception on the GPU" "$(sed -n 's/.*\(no GPU.*\)/\1/p' why)"
fi
done_testing
