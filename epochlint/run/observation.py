"""Observations: what a document or trainer reader noticed that is not a number of the run.

| name | values | noticed by |
|---|---|---|
| number_as_text | key, raw, loader, visible, quoted | a loader that leaves a number as text |
| duplicate_key | key, same (both values equal) | documents, flags |
| misspelt_key | key, suggestion, consumer, rejected | a key table |
| unknown_key | key, consumer, rejected | a key table |
| boolean_trap | key, raw, loaded, consumer | an unquoted yes/no/on/off where a word is expected |
| misread_number | key, raw, how, loader, setting, raises (stops the run) | 010, 1:30, None, 2,000 for a number |
| bad_comment | reason | a comment to epochlint that cannot be read |
| unused_suppression, unknown_suppression | word, reason | a comment that silences findings |
| comment_cuts_command | lost | a comment or blank line in a continued launch |
| impossible_value | key, value, reason | a reader (the rule also looks at settings itself) |
| unreadable | reason, kind | a document |
| rejected | reason, consumer | a combination that the trainer's own validation refuses |
| renamed | package, old, new, gone_in, same_meaning, consumer | a key table and the possible versions |
| schedule_longer | reason | a trainer whose schedule is built for more steps than it runs |
| peak_never_reached | reason | a schedule whose warmup leaves the rate where it begins |
| two_warmups | wins, outcome ("steps win", "ratio wins", "rejected") | a trainer |
| warmup_unit | value, key, reads_as, outcome ("rejected", "one step", "a share", "nothing") | a trainer |
| schedule_length | key, value, reason | a trainer with a decay length of its own |
| batch_not_divisible | reason | a trainer whose global batch must split evenly |
| batch_size_unused | written, used | Axolotl |
| batch_stated | stated, text | a comment |
| gpu_counts_disagree | counts, stated (by a comment) | a launch |
| data_parallel | gpus | a plain `python` on several visible devices |
| scheduler_per_process | reason | an accelerate loop |
| min_rate | reason, raises (the trainer refuses it) | a schedule with a minimum |
| rate_scaled | factor, reason | a recipe that multiplies the written rate |
| evaluation_off | reason, without | validation data without a cadence |
| evaluation_never | key, reason | a cadence that is written and never comes due, however long the run |
| evaluation_without_data | reason, waits (older versions stop when one is due) | a cadence without validation data |
| split_swallows | split, rows | a validation split |
| split_one | value | a validation split of 1 |
| best_model | reason, key | a best model that cannot be chosen |
| best_cadence | reason | save and evaluation steps that do not fit each other |
| dead_cadence | key, strategy | a cadence whose strategy ignores it |
| early_stopping_ignored | reason | a trainer that has none |
| metric_missing | metric | nothing computes the metric |
| deepspeed_batch | key, theirs, ours, reason | a DeepSpeed file, alone or beside a run |
| deepspeed_differs | key, theirs, ours, setting | DeepSpeed beside a run |
| deepspeed_text | key, theirs | a DeepSpeed file |
| deepspeed_schedule | key, theirs, ours, warmup_type | DeepSpeed beside a run |
| generations_do_not_divide, too_few_generations | reason | preference and reinforcement tuning |
| packed_nothing | reason, rows | packing of counted data |
| packed_tokens | most, longest, rows | tokens of small data that is packed: at most in all, at most in one record |
| packed_evaluation | reason, rows | packing of validation data |
| length_truncates | limit, count, records | a default length and counted data |
| provider_type | key, value, reason | a provider's request |
| provider_unknown | key, suggestion, reason, rejected (the service refuses it) | a provider's request |
| provider_range | key, value, reason, documented (only the documentation says so) | a provider's request |
| provider_retired | key, reason | a provider's request |
| provider_lines | count, least, most, reason | a provider's request |
| provider_early_stop | reason | a provider's request |
| provider_missing | key | a provider's request |
| provider_auto | key, reason | a provider's request |
| resume_differs | key, theirs, ours, reason | a checkpoint beside a run |
| resume_interval | key, theirs, ours | a checkpoint beside a run |
| data_messages_counted | declared, messages, records, what (who declared it) | a comment, an assumption |
| data_expanded | rows, records | data of which one row becomes several records |
| data_repeated | records, unique, lines (of the first few) | training data |
| data_disagreeing | prompts, records, lines | training data: the same prompt with different answers |
| data_leak | shared, validation, lines (of the first few) | training and validation data |
| data_invalid | line, reason, consumer | training data |
| data_unreadable | reason, broken (no reader of its format can read it), path | training data |
| data_too_long | count, records, limit, outcome ("dropped", "cut") | training data |
| data_capped | cap, rows | training data |
| data_without_target | line, count, reason | training data |

An observation may hold only in some versions: `package`, `since` and `until` among its values bound them (`since` <=
version < `until`); the engine drops it where no possible version is meant, and asks for all of them otherwise. One that
rests on keys not being written names them (`without`): a launch that was to pass one of them and ends before it is the
cause, which is told by itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from epochlint.source import Span


class Edit:
    """Replace the characters of a span by a text."""

    __slots__ = ("span", "text")

    def __init__(self, span: Span, text: str) -> None:
        self.span = span
        self.text = text


class Fix:
    """Edits that mend a finding. Safe: the run stays what its author asked for, and never another effective batch."""

    __slots__ = ("edits", "safe", "title")

    def __init__(self, title: str, edits: list[Edit], safe: bool) -> None:
        self.title = title
        self.edits = edits
        self.safe = safe


class Observation:
    """A record with a name, a place and values that a rule can ask for (`observation.key`, `observation.value`).

    Names are snake_case and described in docs of the rule that asks for them. `related` are further places with a
    word about each.
    """

    __slots__ = ("fix", "name", "related", "span", "values")

    def __init__(
        self,
        name: str,
        span: Span,
        values: Mapping[str, object] | None = None,
        related: list[tuple[str, Span]] | None = None,
        fix: Fix | None = None,
    ) -> None:
        self.name = name
        self.span = span
        self.values: Mapping[str, object] = values if values is not None else {}
        self.related = related if related is not None else []
        self.fix = fix

    @property
    def without(self) -> tuple[str, ...]:
        """The keys on whose absence it rests."""
        names = self.values.get("without", ())
        return names if isinstance(names, tuple) else ()

    def __repr__(self) -> str:
        return f"Observation({self.name}, {dict(self.values)!r})"
