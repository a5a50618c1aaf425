"""A tokenizer and a language model that are made on the spot: no recorder asks a hub for one."""

from __future__ import annotations

from typing import Any

WORDS = 50


def tokenizer() -> Any:
    """One token a word, and a chat template that marks what the assistant says."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    names = ["<pad>", "<eos>", "<unk>", "user", "assistant", *(f"w{i}" for i in range(WORDS))]
    inner = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", model_max_length=4096
    )
    made.model_input_names = ["input_ids", "attention_mask"]  # a Llama takes no token types
    made.chat_template = (
        "{% for m in messages %}{{ m['role'] }} {% if m['role'] == 'assistant' %}"
        "{% generation %}{{ m['content'] }} <eos>{% endgeneration %}"
        "{% else %}{{ m['content'] }}{% endif %} {% endfor %}{% if add_generation_prompt %}assistant {% endif %}"
    )
    return made


def model(folder: str, rewards: bool = False) -> Any:
    """A random Llama, also saved in the folder: RLOO loads its reference model from where the model came from."""
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=4096, pad_token_id=0, eos_token_id=1, bos_token_id=1,
        **({"num_labels": 1} if rewards else {}),
    )  # fmt: skip
    made = (transformers.LlamaForSequenceClassification if rewards else transformers.LlamaForCausalLM)(config)
    made.save_pretrained(folder)
    made.config._name_or_path = folder
    return made
