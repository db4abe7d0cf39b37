#!/usr/bin/env bash
# Readers of Atom feeds (RFC 4287), installed 2026-11: feedparser 6.0.14, fastfeedparser 0.6.5 (PyPI), rss-parser 3.13.0,
# @rowanmanning/feed-parser 2.1.5 (npm).
# Guess: an entry's author is the feed's if it has none (4.2.1), its link is the one for readers, made absolute with xml:base,
#        and an entry that was updated alone has no date of publication.
# Seen:  one of the four does so, @rowanmanning/feed-parser. The other three give no author. fastfeedparser and rss-parser leave
#        links relative, and for an entry whose only link is an attached file give this file as its page; feedparser gives
#        the entry's id there, "tag:example.org,2026:2". fastfeedparser and rss-parser give the update as the publication.
# Why it matters: subscribers of a feed of games see no author, links that lead nowhere or to a JSON file, and old games as
#        new after a correction. A feed should repeat author, absolute links and `published` in every entry.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check feedparser==6.0.14 fastfeedparser==0.6.5
(cd "$folder" && npm init --yes > /dev/null &&
    npm install --silent --no-audit --no-fund rss-parser@3.13.0 @rowanmanning/feed-parser@2.1.5)
cat > "$folder/games.xml" <<'XML'
<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://example.org/games/">
  <title>Games</title><id>tag:example.org,2026:feed</id><updated>2026-01-05T10:00:00Z</updated>
  <author><name>Arena</name></author>
  <entry>
    <title>A won</title><id>tag:example.org,2026:1</id><updated>2026-01-05T10:00:00Z</updated>
    <link href="g/1"/><summary>Round 1</summary>
  </entry>
  <entry>
    <title>The record</title><id>tag:example.org,2026:2</id><updated>2026-01-05T10:00:00Z</updated>
    <link rel="enclosure" href="g/1.json" type="application/json"/><content type="text">The whole game.</content>
  </entry>
</feed>
XML
cat > "$folder/read.mjs" <<'JS'
import { readFileSync } from "node:fs";
import { parseFeed } from "@rowanmanning/feed-parser";
import Parser from "rss-parser";
const text = readFileSync("games.xml", "utf8");
const whole = parseFeed(text).items.map(item => [item.authors[0]?.name ?? null, item.url, item.published]);
const { items } = await new Parser().parseString(text);
console.log(JSON.stringify({
  "rss-parser": items.map(item => [item.author ?? item.creator ?? null, item.link ?? null, item.pubDate ?? null]),
  "@rowanmanning/feed-parser": whole,
}));
JS
cd "$folder"
venv/bin/python - <<'PY'
import json
import subprocess
from pathlib import Path

import fastfeedparser
import feedparser

text = Path("games.xml").read_text()
seen = json.loads(subprocess.run(["node", "read.mjs"], capture_output=True, text=True, check=True).stdout)
for reader in (feedparser, fastfeedparser):
    seen[reader.__name__] = [[entry.get(name) for name in ("author", "link", "published")] for entry in reader.parse(text).entries]
for name, entries in seen.items():
    print(f"{name:25}", *entries, sep="\n    ")
page, attached = "https://example.org/games/g/1", "g/1.json"
assert seen["@rowanmanning/feed-parser"] == [["Arena", page, None], ["Arena", None, None]]
assert seen["feedparser"] == [[None, page, None], [None, "tag:example.org,2026:2", None]], "it changed"
for name, date in (("fastfeedparser", "2026-01-05T10:00:00+00:00"), ("rss-parser", "2026-01-05T10:00:00.000Z")):
    assert seen[name] == [[None, "g/1", date], [None, attached, date]], "it changed"
PY
