# emulated_verdict.t - make gpu without a GPU: its verdict on an emulated device that works, captures nothing or is absent.
. "$TOP/tests/tap.sh"
[ -e "$BUILD/tests/emu/tally-cuda.so" ] || { echo "1..0 # SKIP no cuda engine in this build"; exit 0; }
[ -z "${SAN:-}" ] || { echo "1..0 # SKIP emulated.t and gpu.t run these tests with the sanitizers"; exit 0; }
export TALLY_MODULES=$BUILD/tests/emu OMP_WAIT_POLICY=passive

# Stand-ins: compute-sanitizer runs its command; a PyTorch that takes 3 ms for a step, and fails with bf16.  The checker
# finds an error if it is to judge calls that fail inside of libraries.
mkdir "$T/bin"
cat >"$T/bin/compute-sanitizer" <<'SH'
#!/bin/sh
case "$*" in
--help) echo "--kernel-name filters"; exit ;;
*racecheck*' --kernel-name kns='* | *synccheck*' --kernel-name kns='* | *memcheck*) ;;
*) exit 86 ;;
esac
case "$*" in *'--report-api-errors no --error-exitcode 86 '*) ;; *) exit 86 ;; esac
while [ "${1#--}" != "$1" ]; do shift 2; done
exec "$@"
SH
cat >"$T/bin/python" <<'SH'
#!/bin/sh
case "$*" in
-c*) echo 2.9 ;;
*bf16*) echo "no kernel of bf16" >&2; exit 3 ;;
*) printf 'ready\n3.5\n3\n2.5\n4\n2\n' ;;
esac
SH
chmod +x "$T"/bin/*

# All stages, with small nets; a broken test fails it.  The device has another name than the emulated one: a test that
# needs the emulation would skip its checks on a GPU.
verdict() {
	TALLY_MODULES=$BUILD/tests/emu TALLY_EMU_NAME='GPU of a rehearsal' GPU_REHEARSE=1 GPU_SECONDS=3600 \
		PYTHON=$T/bin/python PATH=$T/bin:$PATH "$TOP/tests/gpu/verdict" "$BUILD" /nonexistent
}
status 0 "the verdict succeeds on the emulated device" verdict
like "$T/out" '^PASS in [0-9]+ s; the report is ' "the verdict prints PASS and names its report"
for what in 'seam: [0-9]+ checks' 'layer: [0-9]+ checks' 'sums: [0-9]+ checks' 'bits: [0-9]+ checks' 'scores: [0-9]+ checks' \
	'classes: [0-9]+ checks' 'order: [0-9]+ checks' 'drop: [0-9]+ checks' \
	'match: [0-9]+ checks' 'learn: [0-9]+ checks' 'two runs have the same bits' 'split: [0-9]+ checks' \
	'learn on two GPUs: [0-9]+ checks' 'two runs have the same bits on two GPUs' 'racecheck: sums' 'synccheck: sums' \
	'memcheck: seam' 'inception28: the loss is that of the cpu engine'; do
	like "$T/out" "^ok   $what\$" "the verdict has run: $what"
done
is "$(grep -cE '^(no time left|left out)' "$T/out")" 0 "the verdict leaves nothing out"
is "$(grep -cE '^(inception28|resnet110|resnet50|fast) +2 tf32 +[0-9.]+ +3 +[0-9.]+ +3/0 eager$' "$T/out")" 4 \
	"the verdict measures four nets beside PyTorch, whose steps take three CUDA graphs"
is "$(grep -cE '^(inception28|resnet110|resnet50|fast) +2 bf16 +[0-9.]+ +- +- +3/0 failed: compiled$' "$T/out")" 4 \
	"a PyTorch that fails is a dash in the table, and its row says so"
is "$(tail -n 2 "$T/out" | cut -d: -f1 | head -n 1)" "ok   memcheck" "the checker of memory comes last"
is "$(grep -c '^PyTorch failed: lenet, bf16, compiled, batch 2: status 3$' "$BUILD/gpu-report.txt") $(grep -c \
	'^no kernel of bf16$' "$BUILD/gpu-report.txt")" "4 4" "the report has what PyTorch said when it failed"
ok "the report has all that the verdict prints" cmp "$T/out" <(grep -v 'PyTorch failed\|no kernel' "$BUILD/gpu-report.txt")

status 1 "the verdict exits with status 1 without a device" env TALLY_EMU=none bash -c \
	"T='$T'; $(declare -f verdict); verdict"
is "$(cat "$T/out" "$T/err" | wc -l)" 1 "the verdict prints one line without a device"
like "$T/err" '^gpu: FAIL: .*no GPU: no device' "the verdict says that there is no device"
status 1 "the verdict exits with status 1 without a module" env -u SAN CUDA_HOME=/nonexistent PATH="$BUILD:$PATH" TALLY_MODULES="$T" \
	"$TOP/tests/gpu/verdict" "$BUILD" /nonexistent
is "$(cat "$T/out" "$T/err")" "gpu: FAIL: no module of the cuda engine: no /nonexistent/bin/nvcc" \
	"the verdict says why there is no module"
status 77 "GPU_NONE is the status of the verdict without a device" env TALLY_EMU=none GPU_NONE=77 bash -c \
	"T='$T'; $(declare -f verdict); verdict"

# What the clock cuts: a checker is left out, the test match counts until then, and any other test fails.
mkdir -p "$T/cut/tests/op" "$T/cut/tests/gpu" "$T/cut/share/demo" "$T/cut/tests/emu" "$T/cut/bench"
for t in seam layer sums scores classes order drop match learn split; do
	printf '#!/bin/sh\necho ok 1\n' >"$T/cut/tests/op/${t}_test"
done
printf '#!/bin/sh\necho ok 1\n' >"$T/cut/tests/gpu/bits_test"
cat >"$T/cut/bench/gpu_step" <<'SH'
#!/bin/sh
first=2.3 sixth=2.2
case $STEP,$1,$2,$7 in
nan,cuda,bf16,*) echo "gpu_step: forward: the loss of step 1 is nan" >&2; exit 1 ;;
far,cuda,bf16,*) first=2.5 ;;
rising,*) sixth=2.4 ;;
other,cuda,bf16,0) sixth=2.19 ;;
cpu,cpu,*) first=2.32 ;;
none,cpu,*) echo "gpu_step: cpu: no engine cpu" >&2; exit 1 ;;
memory,cuda,*) echo "gpu_step: plan: GPU 0: a batch of 128 takes 9 MB of its memory, and 8 of 8 are free" >&2; exit 3 ;;
esac
echo lenet 2 "$2" 3 1.5 2 1 3/0 $first $sixth
SH
cat >"$T/cut/pworker" <<'SH'
#!/bin/sh
while [ $# -gt 1 ]; do
	[ "$1" != --save ] || echo bits >"$2-1.safetensors"
	shift
done
SH
cat >"$T/cut/timeout" <<'SH'
#!/bin/sh
shift 3
"$@"
status=$?
case " $* " in *" $CUT "* | *"/$CUT "*) exit 124 ;; esac
exit $status
SH
touch "$T/cut/tests/emu/tally-cuda.so"
printf '#!/bin/sh\nexit 0\n' >"$T/cut/compute-sanitizer"
printf '#!/bin/sh\necho "ok 1 - ref: a"\necho "ok 2 - cuda: a"\n' >"$T/cut/tests/op/drop_test"
chmod +x "$T"/cut/{tests/op/*,tests/gpu/*,bench/gpu_step,pworker,timeout,compute-sanitizer}
cut_verdict() {
	env GPU_REHEARSE= TALLY_MODULES="$T/cut/tests/emu" PYTHON=false PATH="$T/cut:$PATH" CUT="$1" \
		"$TOP/tests/gpu/verdict" "$T/cut" /nonexistent
}
# The steps themselves on a device that captures nothing; the other tests have passed above.
mkdir -p "$T/graphless/tests" "$T/graphless/bench" "$T/graphless/share"
ln -s "$T/cut/tests/op" "$BUILD/tests/emu" "$BUILD/tests/stub" "$T/graphless/tests/"
ln -s "$BUILD/bench/gpu_step" "$T/graphless/bench/"
ln -s "$T/cut/pworker" "$BUILD/im2rec" "$T/graphless/"
ln -s "$BUILD/share/demo" "$T/graphless/share/"
status 1 "the verdict exits with status 1 if the device captures no graph" env TALLY_EMU=nograph GPU_REHEARSE=1 GPU_SECONDS=3600 \
	PYTHON=false PATH="$T/bin:$PATH" "$TOP/tests/gpu/verdict" "$T/graphless" /nonexistent
is "$(tail -n 1 "$T/out" | grep -c '^FAIL: 17 failures in ')" 1 \
	"the verdict counts 17 failures if the device captures no graph"
status 1 "the verdict is INCOMPLETE if the clock cuts the test match after one check" cut_verdict match_test
like "$T/out" '^timed out after 200 s: match$' "the verdict says that match had no time"
like "$T/out" '^INCOMPLETE in [0-9]+ s: the clock cut: match$' "one check of match is no test"
printf '#!/bin/sh\nseq -f "ok %%g" 64\n' >"$T/cut/tests/op/match_test"
status 0 "the verdict succeeds if the clock cuts the test match after its checks of f32 and bf16" cut_verdict match_test
like "$T/out" '^cut after its time: match$' "the verdict says that match was cut"
like "$T/out" '^ok   match: 64 checks$' "the verdict counts what match printed until then"
status 1 "the verdict is INCOMPLETE if the clock cuts another test" cut_verdict scores_test
like "$T/out" '^timed out after 60 s: scores$' "the verdict says how long that test had"
like "$T/out" '^INCOMPLETE in [0-9]+ s: the clock cut: scores$' "the verdict names that test"
printf '#!/bin/sh\necho not ok 1\n' >"$T/cut/tests/op/scores_test"
status 1 "the verdict fails if a test fails before the clock cuts it" cut_verdict scores_test
like "$T/out" '^FAIL scores: status 124: not ok 1$' "the verdict says what failed"
printf '#!/bin/sh\necho ok 1\n' >"$T/cut/tests/op/scores_test"
printf '#!/bin/sh\necho "# gradients of several devices are added up on the host: no NCCL"\necho ok 1\n' >"$T/cut/tests/op/split_test"
printf '#!/bin/sh\necho "ok 1${TEST_DEVICES:+ # SKIP no NCCL}"\n' >"$T/cut/tests/op/learn_test"
status 0 "the verdict succeeds if the clock cuts the checker of memory, and without NCCL" cut_verdict memcheck
like "$T/out" '^no time left: memcheck$' "the verdict says that the checker was cut"
like "$T/out" '^left out: learn on two GPUs: no NCCL$' "the verdict says what was left out without NCCL"
status 1 "the verdict does not succeed without time" env GPU_SECONDS=3 bash -c "T='$T'; $(declare -f cut_verdict); cut_verdict none"
like "$T/out" '^INCOMPLETE in [0-9]+ s: the clock cut: seam, layer, .* fast cuda bf16$' "the verdict is INCOMPLETE"
is "$(sed -n 's/^INCOMPLETE.*: //p' "$T/out" | tr , '\n' | wc -l) $(grep -c '^no time left: ' "$T/out")" "30 33" \
	"the verdict names all that it did not run"
printf '#!/bin/sh\necho ok 1\necho "ok 2 # SKIP no bf16"\n' >"$T/cut/tests/op/scores_test"
printf '#!/bin/sh\necho "ok 1 - ref: a"\necho "ok 2 - cuda # SKIP no GPU"\n' >"$T/cut/tests/op/drop_test"
sed -i '2i case "${WHY:+$*}" in *,gpu:1) echo "pworker: $WHY" >&2; exit 1 ;; esac' "$T/cut/pworker"
status 1 "the verdict fails if a second GPU does not work, and if drop skips the GPU" \
	env WHY="cuDNN: no memory" bash -c "T='$T'; $(declare -f cut_verdict); cut_verdict none"
like "$T/out" '^ok   scores: 1 checks$' "the verdict counts no skipped check"
like "$T/out" '^FAIL drop: nothing was tested$' "the verdict says that drop tested nothing"
like "$T/out" '^FAIL two GPUs: pworker: cuDNN: no memory$' "the verdict says what is wrong with two GPUs"
is "$(grep -c '^FAIL: 2 failures' "$T/out")" 1 "the verdict counts both failures"
printf '#!/bin/sh\necho "ok 1 - cuda: a"\n' >"$T/cut/tests/op/drop_test"
status 0 "the verdict succeeds with one GPU" \
	env WHY="no GPU: no device 1: there are 1" bash -c "T='$T'; $(declare -f cut_verdict); cut_verdict none"
like "$T/out" '^left out: tests with two GPUs: pworker: no GPU: no device 1: there are 1$' "the verdict says that there is one GPU"
printf '#!/bin/sh\nexit 86\n' >"$T/cut/compute-sanitizer"
status 1 "the verdict fails if the checker of memory finds an error" cut_verdict none
like "$T/out" '^FAIL memcheck: status 86' "the verdict names the checker"
printf '#!/bin/sh\necho "=== Error: no permission"\nexit 255\n' >"$T/cut/compute-sanitizer"
status 0 "the verdict succeeds if the checker of memory does not run" cut_verdict none
like "$T/out" '^left out: memcheck: the checker did not run: === Error: no permission$' "the verdict says why the checker did not run"

# Losses of whole steps, of which the first are those of a net that multiplies scores by 1e42.
cat >"$T/nan.lua" <<'LUA'
local x = fc{flatten(data(3, 28, 28)), 10, name = "fc"}
for i = 1, 7 do
	x = scale{x, alpha = 1e6}
end
return softmax(x)
LUA
status 1 "gpu_step fails if a loss is NaN" env TALLY_SHARE="$TOP/share" \
	"$BUILD/bench/gpu_step" cuda f32 "$T/nan.lua" 3x28x28 10 2 0
like "$T/err" '^gpu_step: forward: the loss of step 1 is -?nan$' "gpu_step says which loss is NaN"
status 4 "gpu_step has a status for bf16 on an old device" env TALLY_SHARE="$TOP/share" TALLY_EMU_CAPABILITY=7.5 \
	"$BUILD/bench/gpu_step" cuda bf16 lenet 3x28x28 10 2 0
like "$T/err" '^gpu_step: plan: GPU 0 has compute capability 7.5, and bf16 takes 8.0; use f16$' \
	"gpu_step says what bf16 takes"
status 3 "gpu_step has a status for too little memory" env TALLY_SHARE="$TOP/share" TALLY_EMU_MB=1 \
	"$BUILD/bench/gpu_step" cuda f32 lenet 3x28x28 10 2 0
printf '#!/bin/sh\nexit 0\n' >"$T/cut/compute-sanitizer"
judge() { # STEP STATUS WHAT
	status "$2" "$3" env STEP="$1" WHY="no GPU: no device 1: there are 1" bash -c "T='$T'; $(declare -f cut_verdict); cut_verdict none"
}
judge fine 0 "the verdict succeeds if whole steps have the losses of f32"
judge nan 1 "the verdict fails if a loss is NaN"
like "$T/out" '^FAIL fast cuda bf16: status 1: gpu_step: forward: the loss of step 1 is nan$' "the verdict says which loss is NaN"
judge far 1 "the verdict fails if a loss is far from that in f32"
like "$T/out" '^FAIL fast bf16: the loss of step 1 is 2.5, in f32 2.3$' "the verdict says both losses"
judge rising 1 "the verdict fails if updates do not make the loss smaller"
like "$T/out" '^FAIL fast f32: five updates for one batch take the loss from 2.3 to 2.4$' "the verdict says how the loss changes"
judge other 1 "the verdict fails if two runs have different losses"
like "$T/out" '^FAIL fast bf16: two runs have different losses: .* bf16 2.3 2.2; 2.3 2.19$' "the verdict says all losses"
judge cpu 1 "the verdict fails if the loss is not that of the cpu engine"
like "$T/out" '^FAIL fast f32: the loss of step 1 is 2.3, on the cpu engine 2.32$' "the verdict says the loss of the cpu engine"
judge none 0 "the verdict succeeds without a cpu engine"
judge memory 0 "the verdict succeeds on a device with little memory"
like "$T/out" '^left out: resnet50 cuda bf16: gpu_step: plan: GPU 0: a batch of 128 takes 9 MB' \
	"the verdict says for which net the memory is too small"
is "$(grep -c '^left out: .* takes 9 MB' "$T/out")" 16 "the verdict leaves all steps out that have no memory"
old="GPU 0 has compute capability 7.5, and bf16 takes 8.0; use f16"
sed -i "2i case \" \$* \" in *\" bf16 \"*) echo 'pworker: lenet: $old' >\&2; exit 1 ;; esac" "$T/cut/pworker"
judge fine 0 "the verdict succeeds on a device without bf16"
like "$T/out" '^left out: bf16: pworker: lenet: GPU 0 has compute capability 7.5, ' "the verdict says that the device lacks bf16"
is "$(grep -c '^fast .* bf16 ' "$T/out")" 0 "the verdict measures no bf16 on a device without it"

# bench/gpu with tests that are stand-ins, as is timeout: it cuts match, and no other test or also another one.
mkdir -p "$T/fake/tests/op"
for t in seam layer sums scores drop match; do
	printf '#!/bin/sh\necho ok 1\n' >"$T/fake/tests/op/${t}_test"
	chmod +x "$T/fake/tests/op/${t}_test"
done
cat >"$T/fake/timeout" <<'SH'
#!/bin/sh
shift 3
"$@"
case $1 in *"${CUT:-match}_test") exit 124 ;; esac
SH
chmod +x "$T/fake/timeout"
bench() { BUILD=$T/fake OUT=$T/gpu STORE=$T/gpu "$TOP/bench/gpu" --rehearse "$@"; }
status 0 "bench/gpu exits with status 0 if the clock cuts the test match" bench ops
is "$(grep -c '^tests	match	passed=1	failed=0	' "$T/gpu/gpu.tsv")" 1 "bench/gpu counts what match printed until then"
status 1 "bench/gpu exits with status 1 if another test does not end" env CUT=scores bash -c "T='$T'; $(declare -f bench); bench ops"
printf '#!/bin/sh\necho not ok 1\n' >"$T/fake/tests/op/match_test"
status 1 "bench/gpu exits with status 1 if match fails before the clock cuts it" bench ops
status 1 "bench/gpu exits with status 1 if a step fails" \
	env BUILD="$T/none" OUT="$T/gpu" STORE="$T/gpu" "$TOP/bench/gpu" --rehearse look
mkdir -p "$T/tree/bench" && cp "$TOP/bench/gpu" "$T/tree/bench/"
for step in take same train; do
	status 1 "bench/gpu exits with status 1 if the step $step lacks records" \
		env BUILD="$T/fake" OUT="$T/gpu" STORE="$T/no" "$T/tree/bench/gpu" --rehearse $step
	like "$T/out" '^(take: no part came along|no records: not all parts were taken)$' "bench/gpu says what the step $step lacks"
done
status 1 "bench/gpu exits with status 1 if there is no time" \
	env BUILD="$T/fake" OUT="$T/gpu" STORE="$T/gpu" MOST=3 "$TOP/bench/gpu" --rehearse ops
done_testing
