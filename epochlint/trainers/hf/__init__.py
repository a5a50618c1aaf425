"""What all trainers on top of Hugging Face transformers share: its arithmetic by version, its settings, its refusals.

A trainer's reader puts its steps together with `reader.Hf`. Below it: `eras` (the stretches of versions that count
differently for a run) and `counting`; `common` (settings of TrainingArguments), `loading` (who loads a file, and what
comes of it), `keys` (against the key tables), `refusals` (what the classes reject), `script` (the Python around a
call), `generations` (TRL's counting of completions), `recognise` (which mappings are such arguments).
"""
