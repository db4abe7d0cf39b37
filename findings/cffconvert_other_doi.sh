#!/usr/bin/env bash
# cffconvert 2.0.0 (writes BibTeX, RIS, schema.org and others from CITATION.cff), installed 2026-11: a data set with a DOI of its own.
# Guess: the `doi` of the file is the DOI of the reference, and one among `identifiers`, of the paper or an older version, is not;
#        `type: dataset` stays a data set, a project as author is one name, and `preferred-citation` is what is cited.
# Seen:  the first DOI of `identifiers` replaces `doi` in all six forms that have one. schema.org and CodeMeta say
#        SoftwareSourceCode and that the project is a Person; BibTeX has no braces around its name, so "The Season Project" is
#        a person named Project, and has no version. The preferred citation appears nowhere. The file is valid by the
#        same tool, and nothing is reported.
# Why it matters: a published data set is cited under the DOI of another record, by a person who does not exist, and search
#        engines for data sets leave it out. Give the DOI once, and check what was written.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check cffconvert==2.0.0 pybtex==0.26.1
cd "$folder"
cat > CITATION.cff <<'CFF'
cff-version: 1.2.0
message: Please cite this data set.
type: dataset
title: Season One
version: 2.0.1
doi: 10.5281/zenodo.1000001
date-released: 2026-03-04
authors:
  - name: The Season Project
identifiers:
  - type: doi
    value: 10.5281/zenodo.2000002
    description: The data of season zero, which this set continues.
preferred-citation:
  type: article
  title: Agents in public
  journal: Games
  year: 2026
  authors:
    - family-names: Kim
      given-names: Cho
CFF
venv/bin/python -W ignore - <<'PY'
import json
import subprocess

from pybtex.database import parse_string


def convert(*arguments):
    return subprocess.check_output(["venv/bin/cffconvert", "-i", "CITATION.cff", *arguments], text=True)


assert "valid" in convert("--validate")
forms = {form: convert("-f", form) for form in ("apalike", "bibtex", "codemeta", "endnote", "ris", "schema.org")}
for form, text in forms.items():
    found = [digit for digit in ("1000001", "2000002") if digit in text]
    print(f"{form}: DOI {found}, preferred citation {'Agents in public' in text}, version {'2.0.1' in text}")
    assert found == ["2000002"] and "Agents in public" not in text, "it changed"
for form in ("schema.org", "codemeta"):
    work = json.loads(forms[form])
    print(form, work["@type"], work["author"])
    assert work["@type"] == "SoftwareSourceCode" and work["author"][0]["@type"] == "Person", "it changed"
(entry,) = parse_string(forms["bibtex"], "bibtex").entries.values()
(author,) = entry.persons["author"]
print("bibtex:", entry.type, author.first_names, author.middle_names, author.last_names)
assert author.last_names == ["Project"] and "version" not in entry.fields, "it changed"
PY
