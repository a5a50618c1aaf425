"""Following a script: branches, loops, functions, commands within commands, environments."""

from __future__ import annotations

import pytest

from epochlint.documents.document import Entry, Mapping, Scalar, Unresolved
from epochlint.documents.flags import parse
from epochlint.documents.shell import ShellWord
from epochlint.source import Source, Span
from tests.documents.shell.helpers import command, commands, environment, flag, raws, read, words

# Branches -------------------------------------------------------------------------------------------------------------


def test_a_variable_that_depends_on_a_condition_is_not_known() -> None:
    text = """
if [ $EXTRACT -gt 0 ]; then
    MAX_STEPS=10
else
    MAX_STEPS=-1
fi
torchrun train.py --max_steps $MAX_STEPS --lr 1
"""
    found = command(text)
    assert flag(found, "max_steps") is None
    assert flag(found, "lr") == "1"
    assert not found.guarded


def test_branches_that_agree_leave_the_value_known() -> None:
    text = "if [ -f x ]; then LR=1; A=2; else LR=1; A=3; fi\npython train.py --lr $LR --a $A"
    assert flag(command(text), "lr") == "1"
    assert flag(command(text), "a") is None


def test_a_branch_alone_makes_a_value_unknown() -> None:
    assert flag(command("LR=1\nif [ -f x ]; then LR=2; fi\npython train.py --lr $LR"), "lr") is None


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ('[ "$MODE" = lora ]', "2e-4"),
        ('[ "$MODE" == "full" ]', "1e-5"),
        ("[[ $MODE == lo* ]]", "2e-4"),
        ("[[ $MODE != lora ]]", "1e-5"),
        ("[ $N -gt 2 ]", "2e-4"),
        ("[ $N -le 2 ]", "1e-5"),
        ("(( N > 2 ))", "2e-4"),
        ("[ $N -gt 2 ] && [ $MODE = full ]", "1e-5"),
        ("[ $N -gt 2 ] || [ $MODE = full ]", "2e-4"),
        ("[[ $N -gt 2 && $MODE == lora ]]", "2e-4"),
        ("! [ $N -gt 2 ]", "1e-5"),
        ("[ ! $N -gt 2 ]", "1e-5"),
        ("test $N -eq 4", "2e-4"),
        ("true", "2e-4"),
        ("[ -z $UNSET ]", "2e-4"),
        ('[ -n "$UNSET" ]', "1e-5"),
        ('[ -n "$1" ]', "1e-5"),
        ("[ $# -gt 0 ]", "1e-5"),
        ('[ -z "$N" ]', "1e-5"),
        ("[ -f file ]", None),
        ('[ "$1" = x ]', None),
        ("[ $UNSET -gt 2 ]", None),
        ("command -v x", None),
        ("[[ $N =~ 4 ]]", None),
    ],
)
def test_conditions(condition: str, expected: str | None) -> None:
    text = f"MODE=lora\nN=4\nif {condition}; then LR=2e-4; else LR=1e-5; fi\npython train.py --lr $LR"
    assert flag(commands(text)[-1], "lr") == expected


def test_branches_that_are_not_taken_are_kept_as_guarded() -> None:
    text = "MODE=a\nif [ $MODE = a ]; then python a.py; elif [ -f x ]; then python b.py; else python c.py; fi"
    assert [(raws(one)[1], one.guarded) for one in commands(text)] == [("a.py", False), ("b.py", True), ("c.py", True)]


def test_the_default_of_an_argument_stands() -> None:
    text = """
LR=1e-5
EPOCHS=3
if [ -n "$1" ]; then LR=$1; fi
[ -n "$2" ] && EPOCHS=$2
python train.py --lr $LR --epochs $EPOCHS
"""
    assert flag(command(text), "lr") == "1e-5"
    assert flag(command(text), "epochs") == "3"


def test_a_usage_message_does_not_end_the_script() -> None:
    text = 'if [ -z "$1" ]; then echo "usage"; exit 1; fi\n[ $# -lt 2 ] && exit 1\npython train.py --model $1'
    assert words(text) == ["python", "train.py", "--model", None]


def test_nothing_runs_behind_exit() -> None:
    assert [raws(one)[1] for one in commands("python a.py\nexit 0\npython b.py")] == ["a.py"]


def test_a_branch_that_exits_leaves_the_other() -> None:
    text = "if [ -f x ]; then LR=9; exit 1; else LR=1; fi\npython train.py --lr $LR"
    assert flag(command(text), "lr") == "1"


def test_defaults_by_and_or() -> None:
    text = '[ -z "$LR" ] && LR=1\n[ -n "$N" ] || N=8\n[[ -f x ]] && B=1\npython train.py --lr $LR --n $N --b $B'
    found = command(text)
    assert (flag(found, "lr"), flag(found, "n"), flag(found, "b")) == ("1", "8", None)


def test_commands_joined_by_and_or() -> None:
    text = "cd x && python a.py && python b.py || python c.py"
    assert [(raws(one)[1], one.guarded) for one in commands(text)] == [
        ("a.py", False),
        ("b.py", False),
        ("c.py", True),
    ]


@pytest.mark.parametrize(
    ("subject", "expected"), [("7b", "1e-5"), ("13b", "2e-5"), ("70b", "3e-5"), ("$1", None), ("${1:-13b}", "2e-5")]
)
def test_case(subject: str, expected: str | None) -> None:
    text = f"""
case {subject} in
    7b|8b) LR=1e-5 ;;
    13*) LR=2e-5 ;;
    *) LR=3e-5 ;;
esac
python train.py --lr $LR
"""
    assert flag(command(text), "lr") == expected


def test_options_that_a_script_takes_keep_their_defaults() -> None:
    text = """
LR=1e-5
BATCH=4
while [[ $# -gt 0 ]]; do
  case $1 in
    --lr) LR="$2"; shift 2 ;;
    --batch) BATCH="$2"; shift; shift ;;
    *) OTHER="$1"; shift ;;
  esac
done
python train.py --lr $LR --batch $BATCH --x $OTHER
"""
    found = command(text)
    assert (flag(found, "lr"), flag(found, "batch"), flag(found, "x")) == ("1e-5", "4", None)
    by_getopts = 'N=8\nwhile getopts "n:" o; do case $o in n) N=$OPTARG;; esac; done\npython train.py --n $N'
    assert flag(command(by_getopts), "n") == "8"


# Loops ----------------------------------------------------------------------------------------------------------------


def test_a_loop_over_settings_gives_a_command_each() -> None:
    found = commands("for LR in 1e-5 2e-5 3e-5; do\n  python train.py --lr $LR --seed 1\ndone")
    assert [flag(one, "lr") for one in found] == ["1e-5", "2e-5", "3e-5"]
    assert {one.variants for one in found} == {3}
    assert {one.span.place.line for one in found} == {3}


@pytest.mark.parametrize(
    "loop",
    [
        "for I in 1 2; do",
        "for I in {1..2}; do",
        "for I in $(seq 1 2); do",
        "L=(1 2)\nfor I in ${L[@]}; do",
        'L="1 2"\nfor I in $L; do',
        "for ((I=1; I<=2; I++)); do",
        "for ((I=1; I<3; I+=1))\ndo",
    ],
)
def test_loops(loop: str) -> None:
    assert [flag(one, "i") for one in commands(f"{loop}\n python train.py --i $I\ndone")] == ["1", "2"]


def test_loops_in_loops() -> None:
    text = "for A in 1 2; do for B in x y; do python train.py --a $A --b $B; done; done"
    assert [(flag(one, "a"), flag(one, "b")) for one in commands(text)] == [
        ("1", "x"),
        ("1", "y"),
        ("2", "x"),
        ("2", "y"),
    ]


def test_a_loop_over_very_many_words_is_followed_once() -> None:
    found = commands("for I in {1..100}; do python train.py --i $I --lr 1; done")
    assert [(flag(one, "i"), flag(one, "lr")) for one in found] == [(None, "1")]
    nested = commands("for A in {1..40}; do for B in {1..40}; do python train.py --a $A --b $B; done; done")
    assert len(nested) == 40
    assert {flag(one, "b") for one in nested} == {None}


@pytest.mark.parametrize("loop", ["for F in *.yaml", "for F in $FILES", "for F in $(ls)", "while read F"])
def test_loops_over_what_is_not_known(loop: str) -> None:
    found = commands(f"N=1\n{loop}; do python train.py --f $F --n $N; N=$((N + 1)); done")
    assert [(flag(one, "f"), flag(one, "n")) for one in found] == [(None, None)]


def test_what_a_loop_leaves_behind() -> None:
    assert flag(command("N=0\nfor I in 1 2 3; do N=$((N + I)); done\npython train.py --n $N"), "n") == "6"
    assert flag(command("N=0\nwhile x; do N=$((N + 1)); done\npython train.py --n $N"), "n") is None


def test_break_ends_a_loop() -> None:
    assert len(commands("for I in 1 2 3; do python train.py --i $I; break; done")) == 1


# Functions ------------------------------------------------------------------------------------------------------------


def test_functions_are_followed_where_they_are_called() -> None:
    text = """
LR=1
run() {
    local name=$1
    python train.py --name $name --lr ${2:-9} --base $LR
}
LR=2
run a 1e-5
function other { run "$@"; }
other b
"""
    found = commands(text)
    assert [raws(one)[2:] for one in found] == [
        ["--name", "a", "--lr", "1e-5", "--base", "2"],
        ["--name", "b", "--lr", "9", "--base", "2"],
    ]
    assert not any(one.guarded for one in found)


def test_a_local_variable_is_gone_behind_its_function() -> None:
    text = "A=1\nf() { local A=2; B=3; python f.py --a $A; }\nf\npython train.py --a $A --b $B"
    found = commands(text)
    assert [flag(one, "a") for one in found] == ["2", "1"]
    assert flag(found[1], "b") == "3"


def test_the_scripts_arguments_handed_on() -> None:
    assert flag(command('main() { python train.py --lr ${1:-1e-5}; }\nmain "$@"'), "lr") == "1e-5"


def test_a_function_that_nobody_calls_is_guarded() -> None:
    found = command("f() { python train.py --lr $1 --b 2; }")
    assert found.guarded
    assert (flag(found, "lr"), flag(found, "b")) == (None, "2")


def test_a_function_that_calls_itself_is_followed_once() -> None:
    assert len(commands("f() { python train.py; f; f; }\nf")) == 1


def test_shift() -> None:
    assert flag(command("f() { shift; python train.py --a $1; }\nf 1 2"), "a") == "2"


# Commands within commands ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'CMD="python train.py --lr 1"\neval $CMD',
        'CMD="python train.py --lr 1"\neval "$CMD"',
        'CMD="python train.py \\\n  --lr 1"\neval "$CMD"',
        'CMD="python train.py --lr 1"\n$CMD',
        'CMD="python train.py"\nCMD="$CMD --lr 1"\neval "$CMD"',
        "LR=1\nCMD='python train.py --lr $LR'\neval $CMD",
        'CMD=(python train.py --lr 1)\n"${CMD[@]}"',
        "bash -c 'python train.py --lr 1'",
        'bash -lc "python train.py --lr 1"',
        'sh -c "cd x; python train.py --lr 1"',
        "bash <<EOF\npython train.py --lr 1\nEOF",
        "LR=1\nbash <<EOF\npython train.py --lr $LR\nEOF",
        "bash <<'EOF'\nLR=1\npython train.py --lr $LR\nEOF",
        "bash -s <<-EOF\n\tpython train.py --lr 1\n\tEOF",
        'ssh host "cd x && python train.py --lr 1"',
        'tmux send-keys -t s "python train.py --lr 1" C-m',
    ],
)
def test_commands_in_strings(text: str) -> None:
    assert words(text) == ["python", "train.py", "--lr", "1"]


def test_wrappers_in_front_of_a_shell_stay_in_front() -> None:
    text = 'srun -n 2 bash -c "torchrun --nproc_per_node 4 train.py"'
    assert words(text) == ["srun", "-n", "2", "torchrun", "--nproc_per_node", "4", "train.py"]


def test_words_of_an_evaluated_string_stand_in_the_string() -> None:
    found = command('LR=2e-5\nCMD="python train.py --lr $LR"\neval "$CMD"')
    assert [(word.span.text, word.span.place.line) for word in found.words] == [
        ("python", 3),
        ("train.py", 3),
        ("--lr", 3),
        ("$LR", 3),
    ]
    assert found.words[-1].written.text == "2e-5"  # type: ignore[attr-defined] # a ShellWord


def test_an_unknown_part_of_an_evaluated_string() -> None:
    assert words('CMD="python train.py --lr $LR --b 1"\neval "$CMD"') == [
        "python",
        "train.py",
        "--lr",
        None,
        "--b",
        "1",
    ]


def test_a_comment_in_an_evaluated_string_ends_it() -> None:
    assert words('eval "python train.py --a 1 # --b 2"') == ["python", "train.py", "--a", "1"]


def test_a_heredoc_into_a_file_is_no_command() -> None:
    assert commands("cat > job.sh <<EOF\npython train.py\nEOF") == []
    assert commands("cat <<'EOF' | tee job.sh\npython train.py\nEOF") == []


def test_code_for_python_is_no_command() -> None:
    assert words("python - <<EOF\nimport train\ntrain.py --x\nEOF") == ["python", "-"]


def test_jobs_submitted_from_a_script() -> None:
    found = command(
        "sbatch --nodes=2 <<EOT\n#!/bin/bash\n#SBATCH --gres=gpu:4\n#SBATCH --nodes=1\nsrun python train.py\nEOT"
    )
    assert raws(found) == ["srun", "python", "train.py"]
    assert {entry.key for entry in found.directives.entries} == {"gres", "nodes"}
    assert found.directives.last["nodes"].value.raw == "2"  # type: ignore[attr-defined] # a Scalar
    wrapped = command('sbatch -N 2 --gres=gpu:8 --wrap "torchrun train.py"')
    assert raws(wrapped) == ["torchrun", "train.py"]
    assert wrapped.directives.last["nodes"].value.raw == "2"  # type: ignore[attr-defined] # a Scalar


@pytest.mark.parametrize(
    "text",
    ["echo python train.py --lr 1", "printf 'python train.py'", "# python train.py", "X='python train.py'", "ls train"],
)
def test_what_is_only_said_is_no_command(text: str) -> None:
    assert commands(text) == []


# Environments ---------------------------------------------------------------------------------------------------------


def test_the_environment_of_a_command() -> None:
    text = """
export A=1
B=2
export B C=3
D=4
E=5 F=$D python train.py
python other.py
"""
    first, second = commands(text)
    assert environment(first) == {"A": "1", "B": "2", "C": "3", "E": "5", "F": "4"}
    assert environment(second) == {"A": "1", "B": "2", "C": "3"}


def test_variables_that_are_not_exported_are_not_given() -> None:
    assert environment(command("CUDA_VISIBLE_DEVICES=0,1\npython train.py")) == {}


@pytest.mark.parametrize(
    "text", ["set -a\nX=1\nset +a", "declare -x X=1", "X=1\nexport X", "typeset -x X=1", 'export "X=1"']
)
def test_ways_to_export(text: str) -> None:
    assert environment(command(f"{text}\npython train.py")) == {"X": "1"}


def test_an_export_that_is_not_known() -> None:
    assert environment(command("export CUDA_VISIBLE_DEVICES=$1\npython train.py")) == {"CUDA_VISIBLE_DEVICES": None}
    assert environment(command("export A=1\nunset A\nexport -n B\npython train.py")) == {}


def test_where_an_exported_value_stands() -> None:
    entry = command("export N=4\npython train.py").environment.entries[0]
    assert (entry.key_span.text, entry.value.span.text, entry.value.span.place.line) == ("N", "4", 2)


def test_an_environment_from_outside() -> None:
    source = Source("job.yaml", "LR: 1e-5")
    span = Span(source, 4, 8)
    outside = Mapping(span, [Entry("LR", span, Scalar(span, "1e-5", "1e-5")), Entry("X", span, Unresolved(span, "?"))])
    found = read("python train.py --lr $LR --x $X", environment=outside).launches[0]
    assert (flag(found, "lr"), flag(found, "x")) == ("1e-5", None)
    assert environment(found) == {"LR": "1e-5", "X": None}
    assert found.words[3].written.source is source  # type: ignore[attr-defined] # a ShellWord
    plain = read("export B=2\npython train.py --lr $LR", environment={"LR": "1"}).launches[0]
    assert environment(plain) == {"LR": "1", "B": "2"}


# Folders, files, the script itself ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("python train.py", ""),
        ("cd /srv/x\npython train.py", "/srv/x"),
        ("cd a && cd b && python train.py", "a/b"),
        ("cd $X\npython train.py", None),
        ("cd a\ncd -\npython train.py", None),
        ("(cd a)\npython train.py", ""),
        ("if [ -f x ]; then cd a; fi\npython train.py", None),
    ],
)
def test_the_folder_that_a_command_runs_in(text: str, folder: str | None) -> None:
    assert command(text).folder == folder


@pytest.mark.parametrize(
    "text",
    [
        "D=$(dirname $0)",
        'D=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)',
        'D="$( cd "$( dirname "$0" )"; pwd )"',
        "D=$(dirname $(realpath $0))",
        "D=${0%/*}",
    ],
)
def test_the_scripts_own_folder(text: str) -> None:
    found = read(f"# train\n{text}\npython train.py --config $D/../a.yaml", "scripts/run.sh").launches[0]
    assert raws(found)[-1] == "scripts/../a.yaml"


def test_another_file_may_set_anything() -> None:
    text = "source config.sh\npython train.py --lr ${LR:-1}"
    assert flag(command(text), "lr") is None
    activated = "source .venv/bin/activate\nsource ~/.bashrc\npython train.py --lr ${LR:-1}"
    assert flag(command(activated), "lr") == "1"


def test_slurm_tells_a_job_of_itself() -> None:
    text = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH -c 12
srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=$SLURM_GPUS_ON_NODE train.py \
    --n ${SLURM_NTASKS:-9} --c $SLURM_CPUS_PER_TASK --id $SLURM_ARRAY_TASK_ID --j ${SLURM_JOB_ID:-1}
"""
    found = read(text).launches[0]
    assert flag(found, "nnodes") == "2"
    assert flag(found, "nproc_per_node") == "8"
    assert (flag(found, "n"), flag(found, "c")) == ("2", "12")
    assert flag(found, "id") is None
    assert flag(found, "j") is None
    nodes = parse(found.words).get("nnodes")
    assert isinstance(nodes, ShellWord)
    assert (nodes.span.text, nodes.written.text, nodes.written.place.line) == ("$SLURM_NNODES", "2", 2)


def test_without_directives_slurms_variables_are_like_others() -> None:
    assert flag(command("python train.py --n ${SLURM_NNODES:-1}"), "n") == "1"
