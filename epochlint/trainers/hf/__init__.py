"""What all trainers on top of Hugging Face transformers share: its arithmetic by version, its settings, its refusals.

`eras` gives the stretches of versions that count differently for a run, `common` takes the settings of
TrainingArguments into a run, `refusals` notes what its validation rejects, `batching` holds the counting itself.
"""
