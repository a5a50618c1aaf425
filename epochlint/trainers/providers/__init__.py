"""Hosted fine-tuning: one module a service; `request.py` reads and judges bodies, `lines.py` judges lines of data.

What each service accepts (types, words, ranges, numbers of lines), with source and date, stands in
`../data/providers.json` and nowhere else.
"""
