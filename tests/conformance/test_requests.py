"""Requests of fine-tuning jobs: what the services' SDKs refuse, recorded, against epochlint's findings."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.conformance.recorded import load
from tests.helpers import check_project

if TYPE_CHECKING:
    from collections.abc import Iterator

CALLS = {
    "bedrock": ("import boto3", 'boto3.client("bedrock").create_model_customization_job'),
    "sagemaker": ("import boto3", 'boto3.client("sagemaker").create_training_job'),
    "autopilot": ("import boto3", 'boto3.client("sagemaker").create_auto_ml_job_v2'),
    "openai": ("from openai import OpenAI", "OpenAI().fine_tuning.jobs.create"),
    "together": ("from together import Together", "Together().fine_tuning.create"),
    "mistral": ("from mistralai import Mistral", 'Mistral(api_key="k").fine_tuning.jobs.create'),
}
JUDGED = {"PRV003", "PRV004", "PRV005", "PRV007", "PRV008"}
SERVICES = ("autopilot", "azure-ml", "bedrock", "mistral", "openai", "sagemaker", "together", "vertex")

# Cases that the SDK refuses and nothing is said about: why. Patterns over the names of cases.
SILENT = (
    (r"azure-ml/.* (set|rename) type\b", "what is of another type is no fine-tuning job"),
    (r"autopilot/.*AutoMLProblemTypeConfig", "AutoML on tables and images is no fine-tuning"),
    (r"azure-ml/custom set \$schema None", "what the editor's schema is does not matter to the job"),
    (r"(openai|together|mistral|vertex)/.* None$", "null is how many callers say: not set"),
    (r"openai/reinforcement .* method\.reinforcement\.grader\.", "graders are programs of their own"),
    (r"mistral/.* set training_files\.0 'text'", "clients before 1.0 took ids"),
    (r"together/sft set validation_file ''", "an empty name is the client's own default"),
)
# Cases that are told about although the SDK lets them pass: where the service says so.
CAUGHT = (
    (r".* True$", "an SDK takes true for 1; the API's JSON keeps them apart"),
    (r"bedrock/.* hyperParameters\.", "names and ranges of each model family: the Bedrock user guide"),
    (r"bedrock/rft .*rftConfig\.hyperParameters\.", "botocore compares least values only; its service model has both"),
    (r"(bedrock|sagemaker|autopilot)/.* set \S*Name ", "patterns and lengths: the service model, which botocore skips"),
    (
        r"(bedrock|sagemaker|autopilot)/.* \{'letters': 300\}",
        "greatest lengths: the service model, which botocore skips",
    ),
    (
        r"(bedrock|sagemaker|autopilot)/.* set \S*(Type|Mode|Technique|Peft) ",
        "words: the service model, which botocore skips",
    ),
    (r"autopilot/.* set \S*TextGenerationHyperParameters\.", "ranges: the SageMaker developer guide"),
    (r"autopilot/.* rename \S+TextGenerationHyperParameters\.\w+", "names: the SageMaker developer guide"),
    (
        r"mistral/.* (rename|set) (hyperparameters|training_files\.0)\.\w+( 'x')?$",
        "the SDK drops keys that it does not know",
    ),
    (r"mistral/.* set hyperparameters\.\w+ -?\d+$", "ranges: the API's specification"),
    (r"mistral/.* (\{'a': '\w+'\}|\{\})$", "the SDK takes any object for its mark of what is not set"),
    (r"openai/.* set \S*hyperparameters\.\w+ -?\d+$", "ranges: the API's specification"),
    (r"openai/supervised set integrations \{\}", "the SDK's type is any iterable; the API's specification says a list"),
    (r"together/\w+ set \w+ '[\w.-]+'$", "the API's specification says a number, or true or false"),
    (r"together/sft set (batch_size|learning_rate|n_epochs) (-1|0)$", "the API's specification: more than 0"),
    (r"vertex/.* set \w+ (-1|0)$", "the API's specification: more than 0"),
)


@cache
def recording() -> dict[str, Any]:
    return load("requests")


def body_of(case: dict[str, Any]) -> dict[str, Any]:
    """The body that a case stands for: another case's, with one change."""
    cases = recording()["cases"]
    body: dict[str, Any] = json.loads(json.dumps(cases[case["of"]]["body"] if "of" in case else case["body"]))
    path = case.get("drop") or case.get("rename") or case.get("set")
    if path is None:
        return body
    owner: Any = body
    for part in path[:-1]:
        owner = owner[part]
    if "drop" in case:
        del owner[path[-1]]
    elif "rename" in case:
        owner[case["to"]] = owner.pop(path[-1])
    else:
        value = case["value"]
        owner[path[-1]] = "a" * value["letters"] if isinstance(value, dict) and "letters" in value else value
    return body


def written(service: str, body: dict[str, Any]) -> tuple[str, str]:
    """A request as a file: its ending and its text."""
    if service == "azure-ml":
        return "yaml", yaml.safe_dump(body, sort_keys=False)
    if service == "vertex":
        told = "\n".join(f"    {key!r}: {value!r}," for key, value in body.items())
        call = f'client.tunings.tune(base_model="gemini-2.5-flash", training_dataset=data, config={{\n{told}\n}})'
        return "py", f"from google import genai\n\nclient = genai.Client()\n{call}\n"
    imports, call = CALLS[service]
    told = "".join(f"    {key}={value!r},\n" for key, value in body.items())
    return "py", f"{imports}\n\n{call}(\n{told})\n"


def happened(service: str) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """(case's name, case, whether it was accepted)"""
    for result in recording()["results"].values():
        for name, run in result["runs"].items():
            if name.startswith(f"{service}/"):
                yield name, recording()["cases"][name], "accepted" in run


@cache
def judged(service: str) -> dict[str, set[str]]:
    """Case's name -> codes of what is found in its request."""
    names: dict[str, str] = {}
    files: dict[str, str] = {}
    for index, (name, case, _) in enumerate(happened(service)):
        ending, text = written(service, body_of(case))
        path = f"case{index}/job.{ending}"
        names[path] = name
        files[path] = text
    found: dict[str, set[str]] = {name: set() for name in names.values()}
    for finding in check_project(files).findings:
        if finding.level != "note" and finding.code in JUDGED:
            found[names[finding.path]].add(finding.code)
    return found


def reason(name: str, known: tuple[tuple[str, str], ...]) -> str:
    return next((told for pattern, told in known if re.match(pattern, name)), "")


@pytest.mark.parametrize("service", SERVICES)
def test_what_an_sdk_refuses_is_told(service: str) -> None:
    silent = [name for name, _, accepted in happened(service) if not accepted and not judged(service)[name]]
    assert [name for name in silent if not reason(name, SILENT)] == []


@pytest.mark.parametrize("service", SERVICES)
def test_what_an_sdk_takes_is_not_held_against_it(service: str) -> None:
    told = [name for name, _, accepted in happened(service) if accepted and judged(service)[name]]
    assert [name for name in told if not reason(name, CAUGHT)] == []


@pytest.mark.parametrize("service", SERVICES)
def test_the_unchanged_requests_are_clean(service: str) -> None:
    whole = [name for name, case, _ in happened(service) if "body" in case]
    assert [name for name in whole if judged(service)[name]] == []


@pytest.mark.parametrize("service", SERVICES)
def test_most_requests_are_judged_alike(service: str) -> None:
    cases = list(happened(service))
    alike = sum(accepted != bool(judged(service)[name]) for name, _, accepted in cases)
    assert len(cases) >= 160
    assert alike / len(cases) > 0.75


@pytest.mark.parametrize("known", [SILENT, CAUGHT])
def test_no_reason_is_out_of_date(known: tuple[tuple[str, str], ...]) -> None:
    """Every reason explains a difference that is there."""
    different = [
        name
        for service in SERVICES
        for name, _, accepted in happened(service)
        if accepted == (known is CAUGHT) and bool(judged(service)[name]) == (known is CAUGHT)
    ]
    assert [pattern for pattern, _ in known if not any(re.match(pattern, name) for name in different)] == []


# The page ---------------------------------------------------------------------------------------------------------

PAGE = Path(__file__).parent.parent.parent / "docs" / "requests.md"


def _reasons(known: tuple[tuple[str, str], ...], caught: bool) -> Iterator[str]:
    """A row for each reason: the services that it concerns, how many requests, and the reason."""
    different = [
        name
        for service in SERVICES
        for name, _, accepted in happened(service)
        if accepted == caught and bool(judged(service)[name]) == caught
    ]
    for pattern, told in known:
        names = [name for name in different if reason(name, known) == told and re.match(pattern, name)]
        services = ", ".join(sorted({name.partition("/")[0] for name in names}))
        yield f"| {services} | {len(names)} | {told} |"


def page() -> str:
    """docs/requests.md."""
    rows = []
    for service in SERVICES:
        cases = list(happened(service))
        refused = [name for name, _, accepted in cases if not accepted]
        said = sum(bool(judged(service)[name]) for name in refused)
        more = sum(accepted and bool(judged(service)[name]) for name, _, accepted in cases)
        rows.append(f"| {service} | {len(cases)} | {len(refused)} | {said} | {more} |")
    return "\n".join(
        [
            "# Requests of hosted services, and what their SDKs say",
            "",
            "Requests, valid and with one change each, were given to the services' own SDKs (`tests/conformance`): how",
            "often epochlint says the same without them. `python -m tests.conformance.test_requests` writes this page.",
            "",
            "| service | requests | the SDK refuses | said beforehand | said, though the SDK sends it |",
            "|---|---|---|---|---|",
            *rows,
            "",
            "## What is said though the SDK sends it",
            "",
            "| services | requests | where the service says so |",
            "|---|---|---|",
            *_reasons(CAUGHT, True),
            "",
            "## What the SDK refuses and nothing is said about",
            "",
            "| services | requests | why |",
            "|---|---|---|",
            *_reasons(SILENT, False),
            "",
        ]
    )


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
