#!/usr/bin/env bash
# gpt-tokenizer 4.0.0 with tiktoken 1.0.22 (npm; tokens of a chat before it is sent), installed 2026-11: messages with a name.
# Guess: a name adds its tokens and one, as the published rule for these models says, role and name are both in the text that is
#        made, and the library's ways to count agree.
# Seen:  `encodeChat`, and so `countTokens` and `isWithinTokenLimit` of a chat, write the name in the place of the role: two tokens too
#        few for each message with a name, and a user's and an assistant's message of one name are equal. `countChatCompletionTokens`
#        of the same library follows the rule. Without names all agree.
# Why it matters: in a game every speech has the name of its agent: a debate of 100 speeches is 200 tokens longer than counted, over
#        the limit that was checked, and the same library says so through another function. Use `countChatCompletionTokens`.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund gpt-tokenizer@4.0.0 tiktoken@1.0.22
cat > names.mjs <<'JS'
import assert from "node:assert";
import { countChatCompletionTokens, countTokens, decode, encodeChat, isWithinTokenLimit } from "gpt-tokenizer/model/gpt-4o";
import { get_encoding } from "tiktoken";

const encoding = get_encoding("o200k_base");
const length = (text) => encoding.encode(text).length;
// Three a message and three for the reply; a name is its tokens and one.
const rule = (chat) => chat.reduce(
  (sum, { role, content, name }) => sum + 3 + length(role) + length(content) + (name ? length(name) + 1 : 0), 3);
const speech = (role, name) => ({ role, ...(name && { name }), content: "I vote for Ben." });
const chats = {
  "no names": [speech("system"), speech("user"), speech("assistant")],
  "one name": [speech("system"), speech("user", "ada")],
  "long name": [speech("user", "agent_seventeen")],
  "a debate": Array.from({ length: 100 }, (_, number) => speech("user", `agent_${number}`)),
};
for (const [title, chat] of Object.entries(chats)) {
  const named = chat.filter(({ name }) => name).length;
  const found = [encodeChat(chat).length, countTokens(chat), countChatCompletionTokens({ messages: chat })];
  console.log(`${title}: rule ${rule(chat)}, encodeChat ${found[0]}, countTokens ${found[1]}, countChatCompletionTokens ${found[2]}`);
  assert.deepStrictEqual(found, [rule(chat) - 2 * named, rule(chat) - 2 * named, rule(chat)], "it changed");
}
assert(isWithinTokenLimit(chats["a debate"], rule(chats["a debate"]) - 200) !== false, "it changed");
console.log(decode(encodeChat([speech("user", "ada")])));
assert(!decode(encodeChat([speech("user", "ada")])).includes("user"), "it changed");
assert.deepStrictEqual(encodeChat([speech("user", "ada")]), encodeChat([speech("assistant", "ada")]), "it changed");
JS
node names.mjs
