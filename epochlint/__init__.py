"""epochlint: checks fine-tuning configs before the GPUs are booked."""

__version__ = "0.1.0"
