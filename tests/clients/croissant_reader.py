"""Reads a dataset with mlcroissant by its Croissant metadata and prints each record set as a line of JSON.

Warnings are errors.
"""

import json
import logging
import sys
import warnings

warnings.filterwarnings("ignore", category=DeprecationWarning)  # from the libraries that it uses
warned: list[str] = []


class Collected(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        warned.append(record.getMessage())


logging.getLogger().addHandler(Collected(logging.WARNING))

import mlcroissant  # noqa: E402

dataset = mlcroissant.Dataset(jsonld=sys.argv[1])
report = dataset.metadata.ctx.issues.report()
assert not report, report
for records in dataset.metadata.record_sets:
    rows = [
        {
            name.rpartition("/")[2]: value.decode() if isinstance(value, bytes) else str(value)
            for name, value in row.items()
        }
        for row in dataset.records(records.id)
    ]
    print(json.dumps({"name": records.id, "rows": rows}))
assert not warned, warned
