# served.t - names of classes from im2rec --serve: workers, checkpoints and predictions have them as from a file.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$T"' EXIT

# Folders of grey images, each with a bar at another height: FOLDER/CLASS/0.pgm, ...
draw() { # FOLDER CLASS=HEIGHT...
	perl -e 'srand 1; $folder = shift; mkdir $folder; for (@ARGV) { ($class, $at) = split /=/; mkdir "$folder/$class";
		for $i (0..7) { open $f, ">", "$folder/$class/$i.pgm"; print $f "P5 28 28 255\n";
			for $y (0..27) { print $f map { chr(rand(90) + ($y / 7 % 4 == $at ? 160 : 0)) } 1..28 } } }' "$@"
	im2rec -q "$1" -o "$1.rec" || exit 1
}
draw all ant=0 bee=1 cow=2
draw some bee=1 cow=2
draw more bee=1 emu=3
cp some.rec plain.rec
(umask 077; openssl rand -hex 32 >key)
# Serves records: their address is in $at, what the server says in SERVED.err.
serve() { # SERVED FILE...
	rm -f ready && mkfifo ready
	im2rec --serve --listen 127.0.0.1:0 --key-file key --ready-fd 9 "${@:2}" 9>ready 2>"$1.err" &
	read -r at <ready
}
serve all all.rec; all=$at
serve some some.rec; some=$at
serve more more.rec; more=$at
serve plain plain.rec; plain=$at

hint="pack them with names, or copy their .labels file"
train="--net mlp --batch 8 --epochs 12"
status 0 "a job reads files" dlaunch -n 2 -s 1 pworker $train --data all.rec --val some.rec --save near
status 0 "a job reads from servers" dlaunch -n 2 -s 1 pworker $train --data "$all" --val "$some" --data-key-file key --save far
like err "there are names of 3 classes, so the net has as many" "the served names give the number of classes"
is "$(awk -F'\t' '$5 == "validation" { v = $10 } END { print v }' out)" 1.000000 "classes of two servers are matched by name"
ok "the checkpoints are the same, with the names" cmp near-0012.safetensors far-0012.safetensors
w=far-0012.safetensors
status 0 "--predict prints the names of the served classes" pworker --predict $w some
is "$(sed 1d out | cut -f 2,4,5 | uniq)" "1	bee	bee
2	cow	cow" "the names are those of the classes"
status 0 "--predict reads from a server" pworker --predict $w --data "$some" --key-file key
is "$(sed 1d out | cut -f 2,4,5 | uniq)" "1	bee	bee
2	cow	cow" "the served labels are matched by name"
status 0 "--eval reads from a server" pworker --eval $w --data "$some" --key-file key
is "$(sed -n 2p out | cut -f 1,3)" "16	1.000000" "the served classes are matched by name"
status 0 "--eval reads from a server without names" pworker --eval $w --data "$plain" --key-file key
is "$(cat err)" "pworker: $plain: has no names of classes, so label 0 counts as ant; $hint" \
	"a line says that its classes are numbers"
status 2 "--eval refuses served records with another class" pworker --eval $w --data "$more" --key-file key
is "$(cat err)" "pworker: $more: class 'emu' is unknown to the weights, which have ant, bee, cow" "the line names server and class"
status 2 "a net with fewer classes is refused" pworker $train --data "$all" --key-file key --classes 2
is "$(cat err)" "pworker: $all: has 3 classes, more than the net's 2; use --classes 3" "the line has both numbers"
status 0 "--class-weights takes the names of served classes" pworker $train --data "$all" --key-file key --class-weights cow=2
status 2 "--class-weights balanced does not fetch all records" pworker $train --data "$all" --key-file key --class-weights balanced

status 1 "im2rec --serve refuses files with different classes" timeout 20 im2rec --serve --key-file key all.rec more.rec
is "$(cat err)" "im2rec: more.rec: its classes are not those of all.rec; pack both with the same classes" "the line names both files"
printf 'bee\nbee\n' >plain.labels
status 1 "im2rec --serve refuses a name twice" timeout 20 im2rec --serve --key-file key plain.rec
is "$(cat err)" "im2rec: plain.labels: bee: listed twice" "the line names the file"
printf 'bee\ncow\0\n' >plain.labels
status 1 "im2rec --serve refuses a zero byte" timeout 20 im2rec --serve --key-file key plain.rec
is "$(cat err)" "im2rec: plain.labels: a zero byte; save the names as UTF-8, not as UTF-16" "the line says so"
rm plain.labels
serve both some.rec plain.rec
is "$(head -n 1 both.err)" "im2rec: plain.rec: has no names of classes, so label 0 counts as bee; $hint" \
	"im2rec --serve reports a file without names among others"
printf 'b\xe9e\ncow\n' >plain.labels
serve latin plain.rec
is "$(head -n 1 latin.err)" "im2rec: plain.rec: its names of classes are not served, as one has a control character or is not UTF-8" \
	"im2rec --serve reports names that it cannot send"
status 0 "a worker reads such records" pworker --eval $w --data "$at" --key-file key
like err "^pworker: $at: has no names of classes, so label 0 counts as ant" "the worker has no names of them"
done_testing
