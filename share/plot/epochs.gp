# epochs.gp - accuracy, and loss if there is any, by epoch: a PNG on standard output.
#
# plog(1) sets runs, loss, by and $data in front of this: at, train accuracy, train loss, validation accuracy,
# validation loss, seconds, samples/s; a block a run.

set terminal pngcairo size 900, (loss ? 900 : 500) font "DejaVu Sans,11" background "white"
set datafile missing "NaN"
set grid lt 1 lw 0.5 lc rgb "#cccccc"
set border 3
set tics nomirror
set xtics 1 rangelimited
set autoscale xfix
set offsets graph 0.02, graph 0.02, 0, 0
set xlabel by
if (by eq "step" || GPVAL_VERSION < 5) { set xtics autofreq } else { set xtics autofreq 0,1 }
stats $data using 1 nooutput name "at_"
if (at_max - at_min > 20) { set xtics autofreq }

name(what, i) = runs > 1 ? sprintf("%s, run %d", what, i + 1) : what
array shade[8] = ["#1b6ca8", "#d1495b", "#3c8d2f", "#edae49", "#7b4ea3", "#00798c", "#8d5524", "#555555"]
shade_of(i) = shade[i % 8 + 1]

set multiplot layout (loss ? 2 : 1), 1
set key bottom right
set ylabel "accuracy"
set yrange [0:1]
plot for [i = 0:runs - 1] $data index i using 1:2 with linespoints dt 2 pt 6 lc rgb shade_of(i) title name("train", i), \
	for [i = 0:runs - 1] $data index i using 1:4 with linespoints lw 2 pt 7 lc rgb shade_of(i) title name("validation", i)
if (loss) {
	set key top right
	set ylabel "loss"
	set yrange [0:*]
	plot for [i = 0:runs - 1] $data index i using 1:3 with linespoints dt 2 pt 6 lc rgb shade_of(i) title name("train", i), \
		for [i = 0:runs - 1] $data index i using 1:5 with linespoints lw 2 pt 7 lc rgb shade_of(i) title name("validation", i)
}
unset multiplot
