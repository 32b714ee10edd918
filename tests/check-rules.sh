#!/bin/sh
# The house rules that no compiler checks: who may include whom, no circles of includes, what may be called where,
# sizes, header guards, and a README per folder that names each file. Prints one line per breach, exits 1 when there is any.
#   tests/check-rules.sh [DIR]       checks the sources under DIR (default: the project)
#   tests/check-rules.sh --self-test breaks every rule once in a scratch folder and expects to be told
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = --self-test ]; then
    exec sh "$here/base/test_check_rules.sh"
fi
cd "${1:-$here/..}"

exec perl - <<'PERL'
use strict;
use warnings;

my $libc_base = join '|', qw(base bisect err mem arena buf str log clk rng fault sha256 io utf8 simd);
# The table of arrows: room => what its files may include beside their own room, as one pattern over the path from the
# root. A room that is not listed obeys the row of the folder above it. Arrows point down only.
my $values = "base/($libc_base)\\.h\$";
# What every room of controller/ may use.
my $shared = '(base|proto)/|controller/(api|conf)\.h$|ml/(family/family\.h|metric/metric\.def|model/artifact_head\.h)$';
my %may = (
    'base' => 'base/',
    'proto' => '(base|proto)/|ml/metric/metric\.def$',
    'search' => "search/(auto|preview|searchers|space|contract|samplers|schedulers|insight)\\b|$values",
    'search/space' => $values,
    'search/contract' => "search/space/|$values",
    'search/insight' => "search/space/|$values",
    'search/samplers/gp' => "search/(space|contract)/|$values",
    'search/samplers/tpe' => "search/(space|contract|insight)/|$values",
    'search/samplers' => "search/(space|contract|samplers)/|$values",
    'search/schedulers' => "search/(space|contract)/|$values",
    'search/lab' => "search/|$values",
    'ml/math' => $values,
    'ml/ops' => "ml/math/|$values",
    'ml/cpu' => "ml/(math|ops)/|$values",
    'ml/cuda' => "ml/(math|ops)/|$values",
    'ml/table' => "ml/math/|$values",
    'ml/cells' => "ml/(table|math)/|$values",
    'ml/read' => "ml/(table|cells|math|read/columnar)/|$values",
    'ml/read/columnar' => $values,
    'ml/metric' => "ml/math/|$values",
    'ml/text' => "ml/(cells|cpu|math)/|$values",
    'ml/prep' => "ml/(table|text|cpu|math)/|$values",
    'ml/family' => "ml/math/|$values",
    'ml/adjust' => "ml/(metric|math)/|$values",
    'ml/model' => "ml/(table|metric|adjust|prep|family|ops|cpu|math)/|$values",
    'ml/linear' => "ml/(model|family|metric|ops|cpu|math)/|$values",
    'ml/boost' => "ml/(model|family|metric|ops|cpu|math)/|$values",
    'ml/ranks' => "ml/ops/|$values",
    'ml/net' => "ml/(model|family|metric|prep|ops|cpu|math)/|$values",
    'ml/forest' => "ml/(model|family|metric|ops|cpu|math)/|$values",
    'ml/ensemble' => "ml/(adjust|metric|math)/|$values",
    'ml/fit' => "ml/(ensemble|adjust|model|family|prep|metric|text|table|ops|cpu|math)/|$values",
    'ml/apply' => "ml/(model|adjust|read|table|cells|prep|metric|math)/|$values",
    'ml' => "ml/|$values",
    'store' => '(store|base|proto)/',
    'controller/problem' => "store/|search/space/|$shared",
    'controller/state' => "controller/problem/|search/contract/|search/space/|store/|$shared",
    'controller/decide' => "controller/(problem|state)/|search/(?!lab)|store/study\\.h\$|$shared",
    'controller/files' => "controller/state/|store/|$shared",
    'controller/view' => "controller/(problem|state|decide)/|search/(?!lab)|store/|$shared",
    'controller/settle' => "controller/(problem|state|decide|files|view)/|store/|$shared",
    'controller/serve' => "controller/(problem|state|decide|files|view|settle)/|store/|$shared",
    'controller/pool' => "controller/(state|decide)/|$shared",
    'controller/api' => "controller/(problem|state|decide|files|view|settle|serve|pool)/|search/(?!lab)|store/|$shared",
    'controller' => "controller/|search/(?!lab)|store/|$shared",
    'controller/predictor' => '(base|proto)/|ml/(apply|model|read|table|cells)/',
    'trial-runner/agent' => 'trial-runner/(wire|gpu)\.h$|(base|proto)/',
    'trial-runner/command' => 'trial-runner/(wire|gpu)\.h$|(base|proto)/',
    'trial-runner/worker' => 'trial-runner/(wire|gpu)\.h$|(base|proto|ml)/',
    'trial-runner' => '(trial-runner|base|proto|ml)/',
    'web/http' => 'base/',
    'web/request' => '(base|proto|web/http)/|controller/api\.h$',
    'web/api' => '(base|proto|web/http|web/request)/|controller/api\.h$',
    'web' => '(base|proto|web)/|controller/api\.h$',
    'cli' => '(cli|base|proto|search|ml)/',
);
my @only = ( # what, pattern, where it may stand
    ['sqlite3', qr/\bsqlite3_\w+\s*\(/, qr{^(store|tests)/}],
    ['evhttp', qr/\bevhttp_\w+\s*\(/, qr{^tests/}],
    ['a kernel launch', qr/<<</, qr{^(ml/cuda|tests/cuda)/}],
    ['SQL', qr/"\s*(SELECT\s.*\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+TABLE)\b/, qr{^(store|tests)/}],
);
my $banned = qr/(?<![\w.>])(strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|atof|rand|srand|system|usleep|localtime|gmtime|time|setlocale|gets)\s*\(/;
my ($breaches, $functions, $files) = (0, 0, 0);

sub breach { print "$_[0]\n"; $breaches++ }

sub holds { my @in = glob "$_[0]/*"; return scalar @in }

sub check_includes {
    my ($path, $text) = @_;
    my ($dir) = my ($room) = $path =~ m{^(.*)/};
    $dir =~ s{/[^/]*$}{} while !$may{$dir} && $dir =~ m{/};
    my $free = $path =~ m{(^|/)main\.c$|^ml/cuda/check_} || !$may{$dir}; # programs of their own
    while ($text =~ /^[ \t]*#[ \t]*include[ \t]+"([^"]+)"/mg) {
        my $inc = $1;
        breach("$path: includes \"$inc\": write the path from the root") if $inc !~ m{/};
        breach("$path: may not include \"$inc\"") if $inc =~ m{/} && !$free && $inc !~ m{^(?:\Q$room\E/[^/]*$|$may{$dir})};
        breach("$path: nobody includes a main.c") if $inc =~ m{main\.c$};
    }
}

# A unit is x.c with x.h; its private header x_private.h counts with it. It leans on the units whose headers it includes.
my %leans;

sub unit {
    my ($path) = @_;
    $path =~ s/\.\w+$//;
    $path =~ s/_private$//;
    return $path;
}

sub note_unit {
    my ($path, $text) = @_;
    my $unit = unit($path);
    $leans{$unit}{unit($1)} = 1 while $text =~ /^[ \t]*#[ \t]*include[ \t]+"([^"]+)"/mg;
}

# Tarjan, Depth-first search and linear graph algorithms (1972): the strongly connected parts of %leans.
sub circles {
    my (%index, %low, %on, @stack, @found);
    my $visit;
    $visit = sub {
        my ($u) = @_;
        $index{$u} = $low{$u} = keys %index;
        push @stack, $u;
        $on{$u} = 1;
        for my $v (sort keys %{ $leans{$u} }) {
            next if !$leans{$v} || $v eq $u;
            if (!defined $index{$v}) {
                $visit->($v);
                $low{$u} = $low{$v} if $low{$v} < $low{$u};
            } elsif ($on{$v} && $index{$v} < $low{$u}) {
                $low{$u} = $index{$v};
            }
        }
        return if $low{$u} != $index{$u};
        my @part;
        do { push @part, pop @stack; delete $on{ $part[-1] } } while $part[-1] ne $u;
        push @found, [sort @part] if @part > 1;
    };
    for my $u (sort keys %leans) { $visit->($u) if !defined $index{$u} }
    return @found;
}

sub check_calls {
    my ($path, $text) = @_;
    my $code = $text;
    $code =~ s{("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*}{my $s = $1 // ''; my $n = $1 ? 0 : ($& =~ tr/\n//); $s . "\n" x $n}gse;
    my $bare = $code;
    $bare =~ s/"(?:\\.|[^"\\\n])*"/""/g;
    my $n = 0;
    for my $line (split /\n/, $bare) {
        $n++;
        breach("$path:$n: $1 is banned") if $path !~ m{^tests/} && $line =~ $banned;
        for my $o (@only[0 .. 2]) {
            breach("$path:$n: $o->[0] does not belong here") if $line =~ $o->[1] && $path !~ $o->[2];
        }
    }
    breach("$path: $only[3][0] does not belong here") if $code =~ $only[3][1] && $path !~ $only[3][2];
}

sub check_sizes {
    my ($path, $text) = @_;
    my @lines = split /\n/, $text;
    my ($start, $name) = (0, '');
    breach("$path: " . @lines . " lines, at most 800") if @lines > 800;
    for my $i (0 .. $#lines) {
        ($start, $name) = ($i, $lines[$i - 1]) if $lines[$i] eq '{';
        if ($start && $lines[$i] eq '}') {
            my $n = $i - $start - 1;
            $functions++;
            breach("$path:$start: function of $n lines, at most 80: $name") if $n > 80 && $path !~ m{^tests/};
            $start = 0;
        }
    }
}

sub check_guard {
    my ($path, $text) = @_;
    my $want = uc $path;
    $want =~ s/\W/_/g;
    $want =~ s/^TRIAL_(?=RUNNER_)/(?:TRIAL_)?/; # the folder's short name will do
    breach("$path: the header guard should be $want") if $text !~ /^#ifndef ($want)\n#define \1\b/m;
}

sub check_readme {
    my ($dir) = @_;
    my $text = '';
    if (open my $in, '<', "$dir/README.md") { local $/; $text = <$in> }
    else { return breach("$dir: has no README.md") }
    my @lines = split /\n/, $text;
    my $most = 28 + grep { /^- `/ } @lines; # one bullet a file, and what a folder has to say beside them
    $most = 40 if $most < 40;
    breach("$dir/README.md: " . @lines . " lines, at most $most") if @lines > $most && $dir ne 'tests';
    opendir my $d, $dir or return;
    for my $f (sort readdir $d) {
        next if $f =~ /^\./ || $f eq 'README.md' || $f eq 'node_modules';
        my $named = index($text, $f) >= 0;
        if (-d "$dir/$f") {
            breach("$dir/README.md: does not name the folder $f/") if !$named && !-f "$dir/$f/README.md" && holds("$dir/$f");
        } elsif (!$named) {
            breach("$dir/README.md: does not name $f");
        }
    }
}

for my $path (sort split /\n/, `find base proto search store ml controller trial-runner web cli tests docs -type f \\( -name '*.[chS]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' \\) -not -path '*/node_modules/*' 2>/dev/null`) {
    open my $in, '<', $path or next;
    my $text = do { local $/; <$in> } // '';
    $files++;
    check_includes($path, $text);
    note_unit($path, $text) if $path !~ m{^tests/};
    check_calls($path, $text);
    check_sizes($path, $text);
    check_guard($path, $text) if $path =~ /\.(h|cuh)$/;
    breach("$path: does not start with a comment that says what it is") if $path =~ /\.(c|h|cu)$/ && $text !~ m{\A/\*};
}
for my $dir (split /\n/, `find base proto search store ml controller trial-runner web cli -type d -not -path 'web/static*' -not -path store/migrations 2>/dev/null; printf 'tests\nconfigs\n'`) {
    check_readme($dir) if holds($dir);
}
for my $circle (circles()) {
    breach("a circle of includes: @$circle");
}
printf "%d files, %d functions: %s\n", $files, $functions, $breaches ? "$breaches breaches" : 'rules kept';
exit($breaches ? 1 : 0);
PERL
