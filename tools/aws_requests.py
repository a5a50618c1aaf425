"""Writes `epochlint/trainers/data/aws_requests.json`: what Bedrock and SageMaker take, by botocore's service models.

    pip install botocore && python tools/aws_requests.py

The fields are described in `epochlint/trainers/providers/body.py`. Patterns are kept of names alone: roles, keys and
addresses are often placeholders. Lists of machines are left out: they grow every month.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

OPERATIONS = {
    "bedrock": ("bedrock", "CreateModelCustomizationJob"),
    "training-job": ("sagemaker", "CreateTrainingJob"),
    "auto-ml-job": ("sagemaker", "CreateAutoMLJobV2"),
}
DATA = Path(__file__).parent.parent / "epochlint" / "trainers" / "data" / "aws_requests.json"
_NUMBERS = {"integer": "int", "long": "int", "float": "number", "double": "number"}


def field_of(shape: Any, required: bool, above: tuple[str, ...] = ()) -> dict[str, Any]:
    """A shape of botocore as a field."""
    told = shape.metadata
    field: dict[str, Any] = {"required": True} if required else {}
    if shape.name in above:  # a shape inside itself
        return {"type": "any", **field}
    inside = (*above, shape.name)
    if shape.type_name == "structure":
        needed = shape.required_members
        fields = {name: field_of(member, name in needed, inside) for name, member in shape.members.items()}
        return {"type": "object", **field, "fields": fields}
    if shape.type_name in _NUMBERS:
        field.update({ours: told[theirs] for ours, theirs in (("low", "min"), ("high", "max")) if theirs in told})
    else:
        sizes = (("shortest", "min"), ("longest", "max"))
        field.update({ours: told[theirs] for ours, theirs in sizes if told.get(theirs)})
    if shape.type_name == "list":
        return {"type": "list", **field, "items": field_of(shape.member, False, inside)}
    if shape.type_name == "map":
        return {"type": "map", **field, "values": field_of(shape.value, False, inside)}
    if shape.type_name == "boolean":
        return {"type": "bool", **field}
    if shape.type_name in _NUMBERS:
        return {"type": _NUMBERS[shape.type_name], **field}
    if "enum" in told and not shape.name.endswith("InstanceType"):
        return {"type": "word", **field, "words": told["enum"]}
    pattern = told.get("pattern", ".*")
    if shape.name.endswith("Name") and pattern not in (".*", ".+") and "(?" not in pattern:
        field["pattern"] = pattern
    return {"type": "text", **field}


def main() -> None:
    import botocore
    import botocore.session

    session = botocore.session.get_session()
    told: dict[str, Any] = {
        "source": f"botocore {botocore.__version__}, service models",
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat()[:7],
    }
    for name, (service, operation) in OPERATIONS.items():
        shape = session.get_service_model(service).operation_model(operation).input_shape
        told[name] = field_of(shape, False)["fields"]
    lines = [f'"{key}": {json.dumps(value)}' for key, value in told.items() if isinstance(value, str)]
    for name in OPERATIONS:
        fields = ",\n".join(f' "{key}": {json.dumps(value)}' for key, value in told[name].items())
        lines.append(f'"{name}": {{\n{fields}\n}}')
    DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
