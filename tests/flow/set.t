# set.t - dlaunch set changes settings of a job that runs, at one step in all workers and servers, also if they are killed.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
export XDG_STATE_HOME=$T/state OMP_NUM_THREADS=1
trap 'really_living | xargs -r kill -9; rm -rf "$T"' EXIT
cd "$T" || exit 1

bright_records 2000 || exit 1
train="pworker --net mlp --shape 3x28x28 --data train.rec --lr 0.02 --scale 0.00390625 --batch 4 --epochs 1000 --seed 7"
job=$XDG_STATE_HOME/tally/jobs
# start NAME OPTION...: a detached job of 2 workers and 2 servers.
start() { dlaunch --detach --job "$1" -n 2 -s 2 --env STAND $train --save "$1" --keep 1 "${@:2}" >out 2>err; }
# said NAME=VALUE ...: dlaunch set printed them, and the step.
said() { like out "^after step [0-9]*: $*\$" "set prints $* and its step"; }
steps() { awk -F'\t' '$3 == "worker" && $5 == "step" { n = $7 > n ? $7 : n } END { print n }' "$1"; }
back() { line_of "$job/s/err" "^worker $1: pworker: was started again; goes on at step" 1; }

status 2 "set needs settings" dlaunch set none
status 2 "set refuses a job that is not there" dlaunch set none lr=1
status 2 "set refuses an unknown setting" dlaunch set none rate=1
like err '^dlaunch: set: rate: no such setting; there are codec, lr, momentum, slack and wd$' "the error names the settings"

ok "a synchronous job starts" start s --codec f32
status 0 "set changes two settings" dlaunch set s wd=0.001 lr=0.01
said lr=0.01 wd=0.001
first=$(cat out)
status 0 "set repeats the last change" dlaunch set s lr=0.01 wd=0.001
is "$(cat out)" "$first" "the last change is not made twice"
ok "worker 0 reports it" line_of "$job/s/err" '^worker 0: pworker: after step [0-9]*: lr=0.01,wd=0.001$' 1
ok "both workers have it in their logs" line_of "$job/s/out" '^# set [0-9]*:lr=0.01,wd=0.001$' 2
is "$(grep '^# set' "$job/s/out" | sort -u | wc -l)" 1 "both follow at the same step"
status 2 "set refuses slack in a synchronous job, and all settings beside it" dlaunch set s lr=0.5 slack=2
like err '^dlaunch: job s: slack: the workers of this job wait for each other' "the error says why"
ok "a worker and a server are killed" kill -9 "$(real_process --worker 1)" "$(real_process --server 0)"
status 0 "set changes the codec meanwhile" dlaunch set s codec=bf16 momentum=0.5
ok "worker 1 is back" back 1
ok "worker 0 and the other server are killed" kill -9 "$(real_process --worker 0)" "$(real_process --server 1)"
status 0 "worker 0 answers when it is back" dlaunch set s codec=fp16 lr=0.03
said lr=0.03 codec=fp16
status 2 "set refuses a codec that is too coarse for weights" dlaunch set s codec=2bit
ok "a server is killed" kill -9 "$(real_process --server 0)"
status 0 "set changes the codec back" dlaunch set s codec=f32
status 0 "stop ends the job" dlaunch stop s
is "$(cut -d: -f2 "$job/s/settings" | paste -sd' ')" \
	"lr=0.01,wd=0.001 momentum=0.5,codec=bf16 lr=0.03,codec=fp16 codec=f32" "the job's directory has all changes"
n=$(steps "$job/s/out")
rates=$(awk -F'\t' '$3 == "worker" && $5 == "step" && $4 == 0 && !($12 in seen) { seen[$12] = 1; printf "%g\n", $12 }' "$job/s/out")
is "$(paste -sd' ' <<<"$rates")" "0.02 0.01 0.03" "the rows have the rates"
status 0 "a job with the same settings after the same steps runs" \
	dlaunch -n 2 -s 2 --env STAND --env TALLY_SET="$(cat "$job/s/settings")" $train --codec f32 --save r --keep 1 --steps "$n"
ok "the second job has the same bits" cmp s-*.safetensors r-*.safetensors
status 2 "set refuses a job that has ended" dlaunch set s lr=0.1
like err '^dlaunch: job s is not running$' "the error says so"
status 2 "TALLY_SET is checked" dlaunch -n 1 -s 0 --env STAND --env TALLY_SET=5:slack=2 $train
like err 'TALLY_SET: slack: the workers of this job wait' "the error says why"
status 2 "TALLY_SET refuses a momentum for an optimizer that has none" \
	dlaunch -n 1 -s 0 --env STAND --env TALLY_SET=5:momentum=0.5 $train --optimizer descent
like err 'TALLY_SET: momentum: --optimizer descent has none$' "the error names the optimizer"

ok "a job with slack starts" start a --slack 1
status 0 "set makes it asynchronous" dlaunch set a slack=async lr=0.01
said lr=0.01 slack=async
kill -9 "$(cut -d" " -f1 "$job/a/lock")"
status 0 "set gives it slack again, and finds another launcher if the first one was killed" dlaunch set a slack=2
status 2 "set refuses slack 0" dlaunch set a slack=0
status 2 "set refuses a codec in a job without room for what it rounds off" dlaunch set a codec=bf16
like err '^dlaunch: job a: codec: changes in jobs that were started with --codec f32, bf16 or fp16$' "the error says what to do"
status 0 "stop ends it" dlaunch stop a
from=$(steps "$job/a/out")
ok "the job is resumed" dlaunch --resume a
ok "the settings hold in a resumed job" line_of "$job/a/out" '^# set [0-9]*:slack=2$' 4
status 0 "set works in it" dlaunch set a lr=0.04
ok "the resumed job goes on" line_of "$job/a/out" "	worker	[01]	step	[0-9]*	$((from + 1))	" 1
status 0 "stop ends it again" dlaunch stop a

ok "a single worker without servers starts" dlaunch --detach --job one -s 0 --env STAND $train
status 0 "set changes its rate" dlaunch set one lr=0.01
status 0 "stop ends it" dlaunch stop one
ok "another command starts" dlaunch --detach --job other -s 0 -- sleep 300
status 2 "set refuses a job of another command" dlaunch set other lr=0.1
like err '^dlaunch: job other: it runs sleep; only the settings of pworker change$' "the error says why"
dlaunch stop other
ok "nothing of the jobs is left" really_none_left
done_testing
