"""What is usual for language models is no measure for models of images and sound."""

from __future__ import annotations

import pytest

from tests.helpers import lint_project

CONFIG = """\
model_name_or_path: {model}
output_dir: out
per_device_train_batch_size: 64
learning_rate: 2.0e-4
num_train_epochs: 100
"""


def codes(model: str) -> set[str]:
    return {finding.code for finding in lint_project({"train.yaml": CONFIG.format(model=model)})}


@pytest.mark.parametrize("model", ["google/vit-base-patch16-224", "openai/whisper-small", "./facebook/wav2vec2-base"])
def test_hundreds_of_epochs_are_usual_for_other_models(model: str) -> None:
    assert "EPO002" not in codes(model)


@pytest.mark.parametrize("model", ["VietAI/vit5-base", "Qwen/Qwen2.5-7B", "someone/llama-clip-captions"])
def test_they_are_not_for_language_models(model: str) -> None:
    assert "EPO002" in codes(model)
