"""How services say that a content filter refused a request or its reply: as an error of any status, or as an ending.

A filter answers the same text the same way, so nothing is asked again. What speaks of the key, the credit or the model
itself is not a filter.
"""

import re
from collections.abc import Sequence
from typing import Final

_CODES: Final = re.compile(
    r"content_?filter(?:ed)?|content_policy(?:_violation)?|content_management_policy|responsible_?ai_?policy_?violation"
    r"|prohibited_content|safety|image_safety|blocklist|spii|recitation|data_inspection_failed|content_exists_risk"
    r"|moderation(?:_blocked|_error|_failed)?|content_moderation|flagged|input_flagged|output_flagged|guardrail_intervened"
    r"|guardrails?(?:_violation|_blocked)?|unsafe_content|sensitive|sensitive_content|policy_violation"
    r"|cyber_policy_violation|refusal|1301"
)
"""Whole codes and ends of replies, in lower case with `_` between words."""
_WORDS: Final = re.compile(
    r"content[ _-]?filter|content[ _]?(?:management )?[ _]?polic|responsible ?ai ?policy|prohibited[ _]content"
    r"|flagged (?:by|for|as|in)\b|(?:was|were|been|is|are) flagged|\bmoderation\b|usage polic"
    r"|safety (?:system|filter|settings|polic)|data_inspection_failed|block_?reason|guardrail"
    r"|\bblocked (?:by|due to|because of|for) (?:\w+ ){0,3}(?:safety|filter|polic|guardrail|content)"
    r"|inappropriate content|content exists risk|(?:unsafe|harmful|sensitive|offensive) (?:content|or sensitive)"
    r"|敏感内容|内容安全|不安全|违规内容|유해(?:한)? 콘텐츠|콘텐츠 (?:필터|정책)"
)
_OTHER: Final = re.compile(
    r"\bapi[ _-]?key\b|\bkeys?\b.{0,20}(?:invalid|expired|revoked|disabled)"
    r"|(?:invalid|incorrect|expired) (?:\w+ )?key\b|authenticat|unauthori[sz]ed"
    r"|\bcredits?\b|\bbilling\b|\bpayment\b|\bquota\b|\bbalance\b|no such model"
    r"|model[ _](?:not[ _]found|does not exist)"
    r"|(?:unknown|unsupported|unrecognized|unexpected|extra) (?:\w+ )?(?:parameter|argument|field|option|input)"
    r"|(?:account|organization|project) (?:has been |is |was )?(?:suspended|deactivated|disabled|blocked)"
)
_BETWEEN: Final = re.compile(r"[\s-]+")


def is_filter(codes: Sequence[str], message: str) -> bool:
    """Whether an error with these codes is that of a content filter."""
    words = message.lower()
    if any(_is_code(code) for code in codes):
        return not _OTHER.search(words) or "content_filter" in (code.lower() for code in codes)
    return bool(_WORDS.search(words)) and not _OTHER.search(words)


def ends_filtered(reason: str | None) -> bool:
    """Whether the end of a reply, its `finish_reason`, is a filter's."""
    return reason is not None and _is_code(reason)


def _is_code(code: str) -> bool:
    return bool(_CODES.fullmatch(_BETWEEN.sub("_", code.strip().lower())))
