"""Jobs that Terraform (or Pulumi) starts."""

from __future__ import annotations

import time

import pytest

from epochlint.documents import hcl_document
from epochlint.documents.document import Mapping, Scalar, Unresolved
from epochlint.source import Source
from tests.helpers import check_project

BEDROCK = """\
# A model of our own.
data "aws_bedrock_foundation_model" "base" { model_id = "amazon.titan-text-express-v1" }

resource "random_id" "id" {
  byte_length = 8
}

resource "aws_bedrock_custom_model" "example" {
  custom_model_name     = "example"
  job_name              = "example-job-${random_id.id.hex}"
  base_model_identifier = "%s"
  role_arn              = aws_iam_role.example.arn
  customization_type    = "FINE_TUNING"

  hyperparameters = {
    "epochCount"   = %s
    batchSize      = "1"
    "learningRate" = "0.00005"
  }

  training_data_config {
    s3_uri = "s3://${aws_s3_bucket.training.id}/data/train.jsonl"
  }
  validation_data_config {
    validator { s3_uri = "s3://example/one.jsonl" }
    validator { s3_uri = "s3://example/two.jsonl" }
  }
  output_data_config { s3_uri = "s3://example/out/" }
  tags = merge(local.tags, { Name = "example" })
}
"""


def test_a_custom_model_is_a_run() -> None:
    report = check_project({"main.tf": BEDROCK % ("amazon.titan-text-express-v1", 3)})
    assert [checked.run.trainer for checked in report.runs] == ["bedrock"]
    assert report.runs[0].scenarios.fact("epochs").value == 3
    assert report.runs[0].scenarios.fact("effective_batch").value == 1
    assert [finding for finding in report.findings if finding.level != "note"] == []


def test_a_value_out_of_range_is_told_at_its_key() -> None:
    report = check_project({"main.tf": BEDROCK % ("amazon.titan-text-express-v1", '"30"')})
    found = [finding for finding in report.findings if finding.code == "PRV005"]
    assert [finding.span.place.line for finding in found] == [16]
    ignored = BEDROCK.replace("%s\n    batch", '"30" # epochlint: ignore[PRV005] a test\n    batch')
    assert not [f for f in check_project({"main.tf": ignored % "amazon.titan-text"}).findings if f.code == "PRV005"]


def test_an_expression_is_not_guessed_at() -> None:
    report = check_project({"main.tf": BEDROCK % ("${var.model}", "var.epochs")})
    assert report.runs[0].scenarios.fact("epochs").value is None
    assert [finding for finding in report.findings if finding.level != "note"] == []


def test_a_training_job_is_a_run() -> None:
    text = """\
resource "aws_sagemaker_training_job" "example" {
  training_job_name = "tune"
  role_arn          = aws_iam_role.example.arn
  hyper_parameters  = { epochs = 3, "learning_rate" = 0.0001 }
  algorithm_specification {
    training_image      = "image"
    training_input_mode = "Fil"
  }
}
"""
    report = check_project({"main.tf": text})
    assert report.runs[0].run.trainer == "sagemaker"
    assert report.runs[0].scenarios.fact("epochs").value == 3
    assert [(finding.code, finding.span.place.line) for finding in report.findings if finding.level != "note"] == [
        ("PRV005", 7)
    ]


def test_pulumi_takes_the_same_names() -> None:
    text = """\
import pulumi_aws as aws

aws.bedrock.CustomModel("example",
    custom_model_name="example", job_name="example", role_arn=role.arn,
    base_model_identifier="amazon.titan-text-express-v1",
    hyperparameters={"epochCount": "30"},
    output_data_config={"s3_uri": "s3://example/out"}, training_data_config={"s3_uri": "s3://example/train"})
"""
    report = check_project({"main.py": text})
    assert [finding.code for finding in report.findings if finding.level == "error"] == ["PRV005"]


@pytest.mark.parametrize(
    "text",
    [
        'resource "aws_bedrock_custom_model" "a" {',
        'resource "aws_bedrock_custom_model" "a" { x = [1, 2',
        'resource "aws_bedrock_custom_model" "a" { x = "',
        'resource "aws_bedrock_custom_model" {}',
        'resource "aws_bedrock_custom_model" "a" { a = ' + "{ b = " * 200,
        'resource "aws_bedrock_custom_model" "a" { a = ' + "[" * 200,
        "}}}]])) resource",
        'a = <<EOT\nresource "aws_bedrock_custom_model" "a" {}\n',
    ],
)
def test_broken_files_are_no_runs(text: str) -> None:
    document = hcl_document.read(Source("main.tf", text))
    assert all(isinstance(root, Mapping) for root in document.roots)


def test_what_is_written_out_is_read() -> None:
    text = """\
resource "kind" "name" {
  text    = "a \\"b\\""
  number  = -1.5e3
  truth   = true
  nothing = null
  list    = ["a", 2, var.x]
  call    = merge({ a = 1 }, { b = 2 })
  sum     = 1 + 2
  either  = var.big ? 1 : 2
  poem    = <<-EOT
    } not the end {
    EOT
  inner { key = 1 } // behind a comment
  /* resource "other" "name" {} */
}
"""
    (root,) = hcl_document.read(Source("main.tf", text)).roots
    assert isinstance(root, Mapping)
    values = {entry.key: entry.value for entry in root.entries}
    assert {key: node.value for key, node in values.items() if isinstance(node, Scalar)} == {
        "resource": "kind",
        "text": 'a "b"',
        "number": -1500.0,
        "truth": True,
        "nothing": None,
    }
    assert {key for key, node in values.items() if isinstance(node, Unresolved)} == {"call", "sum", "either", "poem"}
    assert {"list", "inner"} <= set(values)


def test_large_files_are_read_in_time() -> None:
    text = 'resource "a" "b" { x = "${a{b}" y = [' + '"$${" , ' * 60_000
    start = time.monotonic()
    hcl_document.read(Source("main.tf", text))
    assert time.monotonic() - start < 10
