#!/usr/bin/env bash
# langchain-core 1.8.3 (messages for models), installed 2026-12: messages of several speakers, each with a `name`.
# Guess: `merge_message_runs` joins what one speaker says in a row, and keeps speakers apart, or the name of the first at least; a history that
#        is written as text (`get_buffer_string`) says who spoke, as the form of the OpenAI API does.
# Seen:  runs are joined by their kind alone: Kim's "I vote no." and Lee's "I vote yes." become one message of a user, without any name, and so
#        do those of two assistants. A name is gone even where both messages have the same one; a message that is alone keeps it. The text says
#        "Human:" for each of them. Saving as a dict, `convert_to_openai_messages` and `trim_messages` keep names. Nothing is reported.
# Why it matters: providers that want roles to alternate make this step common, and afterwards one player says yes and no in a breath: the
#        model votes by what it said itself. Write the speaker into the text of each message.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langchain-core==1.8.3
"$folder/venv/bin/python" - <<'PY'
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    convert_to_openai_messages,
    get_buffer_string,
    merge_message_runs,
    messages_from_dict,
    messages_to_dict,
)

history = [
    SystemMessage("A jury of four.", name="rules"),
    HumanMessage("I vote no.", name="kim"),
    HumanMessage("I vote yes.", name="lee"),
    AIMessage("Let us talk.", name="park"),
    AIMessage("I agree with Lee.", name="judge"),
    HumanMessage("Why?", name="kim"),
    HumanMessage("Say more.", name="kim"),
]
assert messages_from_dict(messages_to_dict(history)) == history
assert [message["name"] for message in convert_to_openai_messages(history)] == [message.name for message in history]

merged = [(message.type, message.name, message.content) for message in merge_message_runs(history)]
for message in merged:
    print("merged:", *message, sep=" | ")
assert merged == [
    ("system", "rules", "A jury of four."),
    ("human", None, "I vote no.\nI vote yes."),
    ("ai", None, "Let us talk.\nI agree with Lee."),
    ("human", None, "Why?\nSay more."),
], "it changed"
text = get_buffer_string(history)
print(text)
assert not any(name in text for name in ("kim", "lee", "park", "judge")) and text.count("Human:") == 4, "it changed"
PY
