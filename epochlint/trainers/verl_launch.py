"""A launch of verl with the config that its package ships: which keys there are, and what its checks refuse.

Read in verl 0.2.0.post2 to 0.9.1 (`utils/config.py`, before `trainer/ppo/ray_trainer.py`: `validate_config`;
`workers/config/`) and recorded in tests/conformance. Hydra refuses to override a key that is not in the composed
config; `+key=value` adds one. Keys and defaults by version: data/verl.json.
"""

from __future__ import annotations

from epochlint.documents.document import Entry, Scalar
from epochlint.documents.scalars import boolean, number
from epochlint.run.known import DEFAULT, UNKNOWN, Known
from epochlint.run.observation import Observation
from epochlint.trainers import tables
from epochlint.trainers.copies import declared
from epochlint.trainers.settings import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.run.versions import VersionRange
    from epochlint.trainers.settings import Taker
    from epochlint.trainers.tables import Table
    from epochlint.trainers.trainer import Reading

CONSUMER = "verl"
_OWNERS = {"fsdp_sft_trainer": "sft", "sft_trainer": "sft_engine", "sft_trainer_ray": "sft_engine"}
_CONFIGS = {
    "ppo": ("ppo_trainer", "ppo_megatron_trainer"),
    "sft": ("sft_trainer",),
    "sft_engine": ("sft_trainer_engine",),
}
_HYDRA = ("hydra", "hydra/")
_ACTOR = "actor_rollout_ref.actor."
_ROLLOUT = "actor_rollout_ref.rollout."
_AGGREGATIONS = ("token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm")
_SCHEDULES = ("constant", "cosine")


def owner(command: tuple[str, ...]) -> str | None:
    """The config that a module starts with: `ppo`, `sft` or `sft_engine`."""
    if len(command) < 2 or not command[1].startswith("verl.trainer."):
        return None
    name = command[1].removeprefix("verl.trainer.")
    return "ppo" if name.startswith("main_ppo") else _OWNERS.get(name)


def shipped(flags: Reading) -> Launch | None:
    """What the launch starts, where it takes the package's own config and not another."""
    name = owner(flags.command)
    if name is None or any(key in flags for key in ("config_path", "cp", "config_dir", "cd")):
        return None
    config = next((flags.node(key) for key in ("config_name", "cn") if key in flags), None)
    if config is not None and (text_of(config) or "").removesuffix(".yaml") not in _CONFIGS[name]:
        return None
    return Launch(flags, name, text_of(config) or "")


class Launch:
    """The overrides of a launch beside the package's config."""

    def __init__(self, flags: Reading, name: str, config: str) -> None:
        self.flags = flags
        self.name = name
        self.megatron = "megatron" in config
        self.table: Table = tables.load("verl", name)
        self.versions: VersionRange = flags.versions.of("verl")
        below = self.table.last_before(self.versions.below) if self.versions.below is not None else None
        self.range = (self.versions.low, self.versions.high or below)

    def usual(self, key: str) -> Known:
        """The default, where all possible versions have the same; a number that YAML leaves as text is one."""
        found = self.table.defaults(key, *self.range)
        value = found[0] if len(found) == 1 else None
        return Known(value, DEFAULT) if isinstance(value, (int, float)) else UNKNOWN

    def check(self, taker: Taker) -> None:
        """Notes what Hydra and verl's checks refuse."""
        self._keys(taker)
        if self.name == "ppo":
            self._batches(taker)
            self._others(taker)
        elif self.name == "sft_engine":
            self._words(taker, "optim.lr_scheduler_type", _SCHEDULES, "0.6.0")

    # Keys ---------------------------------------------------------------------------------------------------------

    def _keys(self, taker: Taker) -> None:
        """Overrides of keys that are in no version's config, where their block is."""
        table = self.table
        odd: dict[str, Entry] = {}
        for layer in self.flags.layers:
            for entry in layer.mapping.entries:
                if "." in entry.key and not table.known(entry.key) and self._judged(entry):
                    odd[entry.key] = entry
        own = declared(self.flags, {key.rpartition(".")[2] for key in odd}, ("verl",)) if odd else frozenset()
        for key, entry in odd.items():
            block, _, last = key.rpartition(".")
            if last in own:
                continue
            beside = {name for name in table.names() if name.rpartition(".")[0] == block}
            near = tables.nearest(last, {name.rpartition(".")[2] for name in beside})
            values: dict[str, object] = {"key": key, "consumer": CONSUMER, "rejected": True}
            if near is None:
                taker.observe("unknown_key", entry.key_span, None, **values)
            else:
                taker.observe("misspelt_key", entry.key_span, None, **values, suggestion=f"{block}.{near}")

    def _judged(self, entry: Entry) -> bool:
        """No addition, no removal, no choice of a group, nothing of Hydra's own or inside an open block."""
        span = entry.key_span
        written = span.source.text[span.start : span.end].lstrip("'\"")
        if written.startswith(("+", "~")) or entry.key.startswith(("~", *_HYDRA)) or {"@", "/"} & set(entry.key):
            return False
        block = entry.key.rpartition(".")[0]
        names = self.table.names()
        return block not in names or any(name.startswith(block + ".") for name in names)

    # Combinations -------------------------------------------------------------------------------------------------

    def _batches(self, taker: Taker) -> None:
        if self._dynamic():
            return
        actor = _ACTOR + "ppo_mini_batch_size"
        batch, mini = self._number("data.train_batch_size"), self._number(actor)
        if batch is not None and mini is not None and batch < mini:
            reason = f"the batch of {batch:,g} is below the mini-batch of {mini:,g}"
            self._refuse(taker, (actor, "data.train_batch_size"), reason, "0.3.0.post1")
        critic = "critic.ppo_mini_batch_size"
        theirs = self._number(critic) if critic in self.flags and self._critic() else None
        if batch is not None and theirs is not None and batch < theirs:
            reason = f"the batch of {batch:,g} is below the critic's mini-batch of {theirs:,g}"
            self._refuse(taker, (critic,), reason, "0.3.0.post1")
        self._spread(taker, batch)
        old, new = _ACTOR + "ppo_micro_batch_size", _ACTOR + "ppo_micro_batch_size_per_gpu"
        self._one_of(taker, old, new)
        self._one_of(taker, _ROLLOUT + "log_prob_micro_batch_size", _ROLLOUT + "log_prob_micro_batch_size_per_gpu")
        micro, devices = self._number(old) if old in self.flags else None, self._devices()
        if micro and mini is not None and mini % micro:
            self._refuse(taker, (old,), f"the mini-batch of {mini:,g} is no multiple of {micro:,g}", "0.6.0")
        parallel = self._number(_ACTOR + "ulysses_sequence_parallel_size")
        if micro and devices and parallel and micro * parallel < devices and not self._other_engine():
            self._refuse(taker, (old,), f"{micro:,g} is less than one for each of {devices:,g} GPUs", "0.6.0")

    def _spread(self, taker: Taker, batch: float | None) -> None:
        """Prompts x answers must be shared out among all GPUs (FSDP; Megatron's parallel sizes take some of them)."""
        answers, devices = self._number(_ROLLOUT + "n"), self._devices()
        if batch is None or not answers or not devices or self._other_engine():
            return
        if batch * answers % devices:
            keys = ("data.train_batch_size", _ROLLOUT + "n", "trainer.n_gpus_per_node", "trainer.nnodes")
            entry = next((self.flags.top[key][0] for key in keys if key in self.flags), None)
            if entry is not None:
                reason = f"{batch:,g} prompts x {answers:g} answers cannot be shared out among {devices:g} GPUs"
                taker.observe("batch_not_divisible", entry.key_span, reason=reason)

    def _others(self, taker: Taker) -> None:
        self._words(taker, _ACTOR + "loss_agg_mode", _AGGREGATIONS, "0.6.0")
        parallel = _ACTOR + "ulysses_sequence_parallel_size"
        padded = self._entry("actor_rollout_ref.model.use_remove_padding")
        if (self._number(parallel) or 0) > 1 and padded is not None and boolean(padded.value) is False:
            self._refuse(taker, (parallel,), "sequence parallelism needs use_remove_padding", "0.2.0.post2")
        sampled, cold = self._entry(_ROLLOUT + "val_kwargs.do_sample"), _ROLLOUT + "temperature"
        if sampled is not None and boolean(sampled.value) is True and self._number(cold) == 0:
            self._refuse(taker, (cold,), "a validation that samples needs a temperature above 0", "0.3.0.post1")

    def _one_of(self, taker: Taker, old: str, new: str) -> None:
        """The batch of a micro-step is given in one of two ways."""
        whole, each = self._entry(old), self._entry(new)
        if whole is not None and each is not None and number(whole.value) and number(each.value):
            self._refuse(
                taker, (old,), f"it stands beside {new.rpartition('.')[2]}; only one may be set", "0.2.0.post2"
            )
        elif each is not None and _null(each) and (whole is None or _null(whole)) and not self.flags.open_ended:
            self._refuse(taker, (new,), "a micro-batch must be set", "0.2.0.post2")

    def _words(self, taker: Taker, key: str, words: tuple[str, ...], since: str) -> None:
        entry = self._entry(key)
        text = text_of(entry.value) if entry is not None else None
        if text is not None and text.replace("-", "").replace("_", "").isalnum() and text not in words:
            self._refuse(taker, (key,), f"{key} is one of {', '.join(words)}, not {text}", since)

    # What is written ----------------------------------------------------------------------------------------------

    def _dynamic(self) -> bool:
        """Whether batches are, or may be, made of tokens."""
        entry = self._entry(_ACTOR + "use_dynamic_bsz")
        return boolean(entry.value) is not False if entry is not None else self.flags.open_ended

    def _critic(self) -> bool:
        entry = self._entry("algorithm.adv_estimator")
        switch = self._entry("critic.enable")
        return (entry is None or text_of(entry.value) == "gae") and switch is None

    def _other_engine(self) -> bool:
        """Another engine than FSDP, or one that cannot be known."""
        keys = ("model_engine", "actor_rollout_ref.actor.strategy", "actor_rollout_ref.hybrid_engine")
        strategy = self._entry(keys[1])
        fsdp = strategy is None or text_of(strategy.value) in ("fsdp", "fsdp2")
        return self.megatron or not fsdp or any(self._entry(key) is not None for key in (keys[0], keys[2]))

    def _devices(self) -> float | None:
        per_node, nodes = self._number("trainer.n_gpus_per_node"), self._number("trainer.nnodes")
        return per_node * nodes if per_node and nodes else None

    def _entry(self, key: str) -> Entry | None:
        return self.flags.top[key][0] if key in self.flags else None

    def _number(self, key: str) -> float | None:
        entry = self._entry(key)
        if entry is not None:
            return number(entry.value)
        return self.usual(key).number if not self.flags.open_ended else None

    def _refuse(self, taker: Taker, keys: tuple[str, ...], reason: str, since: str) -> None:
        entry = next((found for key in keys if (found := self._entry(key)) is not None), None)
        if entry is not None:
            values = {"reason": reason, "consumer": CONSUMER, "package": "verl", "since": since}
            taker.run.observations.append(Observation("rejected", entry.key_span, values))


def _null(entry: Entry) -> bool:
    node = entry.value
    return isinstance(node, Scalar) and (node.value is None or node.raw in ("null", "None", "~"))
