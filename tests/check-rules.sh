#!/bin/sh
# The house rules that no compiler checks: who may include whom, what may be called where, sizes, header
# guards, and a README per folder that names each file. Prints one line per breach, exits 1 when there is any.
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

my $libc_base = join '|', qw(base err mem arena buf str log clk rng fault sha256 io);
my %may = ( # folder => what its files may include, as one pattern over the path from the root
    'base' => 'base/',
    'proto' => '(base|proto)/',
    'search' => "(search/|base/($libc_base)\\.h\$)",
    'ml' => "(ml/|base/($libc_base)\\.h\$)",
    'store' => '(store|base|proto)/',
    'controller' => '(controller|base|proto|search|store)/|ml/family\.(h|def)$',
    'trial-runner' => '(trial-runner|base|proto|ml)/',
    'web' => '(web|base|proto)/|controller/api\.h$',
    'cli' => '(cli|base|proto|search|ml)/',
);
my @only = ( # what, pattern, where it may stand
    ['sqlite3', qr/\bsqlite3_\w+\s*\(/, qr{^(store|tests)/}],
    ['evhttp', qr/\bevhttp_\w+\s*\(/, qr{^(web/server\w*\.c|tests/.*)$}],
    ['a kernel launch', qr/<<</, qr{^(ml/cuda|tests/cuda)/}],
    ['SQL', qr/"\s*(SELECT\s.*\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+TABLE)\b/, qr{^(store|tests)/}],
);
my $banned = qr/(?<![\w.>])(strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|atof|rand|srand|system|usleep|localtime|gmtime|time|setlocale|gets)\s*\(/;
my ($breaches, $functions, $files) = (0, 0, 0);

sub breach { print "$_[0]\n"; $breaches++ }

sub holds { my @in = glob "$_[0]/*"; return scalar @in }

sub check_includes {
    my ($path, $text) = @_;
    my ($dir) = $path =~ m{^([^/]+)/};
    my $free = $path =~ m{(^|/)main\.c$} || !$may{$dir};
    while ($text =~ /^[ \t]*#[ \t]*include[ \t]+"([^"]+)"/mg) {
        my $inc = $1;
        breach("$path: includes \"$inc\": write the path from the root") if $inc !~ m{/};
        breach("$path: may not include \"$inc\"") if $inc =~ m{/} && !$free && $inc !~ m{^(?:$may{$dir})};
        breach("$path: nobody includes a main.c") if $inc =~ m{main\.c$};
    }
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
    breach("$dir/README.md: " . @lines . " lines, at most 40") if @lines > 40 && $dir ne 'tests';
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

for my $path (sort split /\n/, `find base proto search store ml controller trial-runner web cli tests -type f \\( -name '*.[chS]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' \\) -not -path '*/node_modules/*' 2>/dev/null`) {
    open my $in, '<', $path or next;
    my $text = do { local $/; <$in> } // '';
    $files++;
    check_includes($path, $text);
    check_calls($path, $text);
    check_sizes($path, $text);
    check_guard($path, $text) if $path =~ /\.(h|cuh)$/;
    breach("$path: does not start with a comment that says what it is") if $path =~ /\.(c|h|cu)$/ && $text !~ m{\A/\*};
}
for my $dir (qw(base proto search store ml ml/cpu ml/cuda controller trial-runner web cli tests configs)) {
    check_readme($dir) if holds($dir);
}
printf "%d files, %d functions: %s\n", $files, $functions, $breaches ? "$breaches breaches" : 'rules kept';
exit($breaches ? 1 : 0);
PERL
