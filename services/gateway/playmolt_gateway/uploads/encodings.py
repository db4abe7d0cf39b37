"""The encoding of a text without a declaration, strictly, by the first that fits."""

import codecs
import re
import unicodedata
from functools import cache
from typing import Final, NamedTuple

from playmolt_gateway.uploads.outcome import FileText, refuse

SURE: Final = 0.8
_SHARE: Final = 0.9
"""The share of a script among the letters above ASCII from which an encoding fits."""
_GUESSED: Final = 0.5
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""UTF-32's mark before UTF-16's, with which it begins."""
_NAMES: Final = frozenset(
    codecs.lookup(name).name
    for name in (
        "ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "cp949",
        "euc-kr", "johab", "iso2022_kr", "gb18030", "gbk", "gb2312", "hz", "big5", "big5hkscs", "cp950", "shift_jis",
        "cp932", "euc_jp", "iso2022_jp", "koi8_r", "koi8_u", "mac_roman", "cp437", "cp850", "tis_620", "cp874",
        *(f"cp{number}" for number in range(1250, 1259)),
        *(f"iso8859-{number}" for number in (*range(1, 12), 13, 14, 15, 16)),
    )
)  # fmt: skip
_HAN: Final = ("CJK", "KANGXI")
_INSIDE: Final = re.compile(r"(?<=[A-Za-z])[^\x00-\x7f]+(?=[a-z])")
_WINDOWS: Final = re.compile(r"^(?:x-)?windows-(?=\d)", re.IGNORECASE)
_LINE_CHARS: Final = 200
_CONTROLS: Final = re.compile(r"[\x01-\x08\x0e-\x19]")
_SPACES: Final = "\t\n\v\f\r"
_COMMON_SHARE: Final = 0.8
"""The share of everyday characters among the Han of a real text; another encoding's bytes give rare ones."""
_BIG5_COMMON: Final = range(0xA440, 0xC67F)
_ARCHAIC: Final = re.compile("[\u3165-\u3183]")
"""Letters that no Korean of today writes; the bytes of Japanese in EUC-JP give them."""
_PARTICLES: Final = frozenset("는은이가을를의에다고하지로서도한기자사시리어나해인아라정대있수그")
_PARTICLE_SHARE: Final = 0.2
_PARTICLES_FEWEST: Final = 3
"""Hangul of a real text is to two fifths made of `_PARTICLES`; Chinese read as Korean to one in 500."""
_COMMON_HANGUL: Final = frozenset(
    "가각간감값강같개거건걸검겁것게겠결경계고공과관교구국군권그근글금급기김까께끝나날남내너네년노놓누느는니닙다단"
    "달담답당대더던데델도독돌동되된됩두둘뒤드든들등따때또라람래러런럼렇레려력례로록료르른를름리린마막만말매머먼며"
    "면명모목못무문묻물미민밀바박반받발밤방배백버번벌법변보복본부분불블비빈뿐사삭살상새생서석선설섯성세션셨소속손"
    "송수순스습시식신실심십쓰아안않알았앞야약어언업없엇었에여연열였영예오온와외요용우운원월위유으은을음의이인일읽"
    "임입있자작잘잠장재쟁저적전절점접정제조종죄주죽준줄중증지직진질집쪽차찰참채책처청체초최추출측치침코크키택터테"
    "토통투트파판페평표품프피필하학한할함합항해했행현형호화확회히"
)
"""Nine tenths of the syllables of Korean texts; Chinese read as Korean has one in eight."""
_COMMON_HAN: Final = frozenset(
    "一丁七三上下不与丙业东两个中为主举么义之乙也书了争事二于五些交产人什今从他付代令以们件价任份会位住体何作你使"
    "依保信借值假偏做停偿像儿元先克入全公六关其具内再写军决准几出分划列则初删判利别到制前力办加务动化区十半单卖即"
    "原去参又及双发取受变口句另只叫可台号司各合同名后向吗否吧听告员和哈哪器四回因团国在地场址坐块型声处备复外多夜"
    "大天失头她好如始子字存学它安完官定实审家容密对封将小少就局屋展履工差己已布希带席干平年并序应度开式引张归当录"
    "往待很得心必志怎性总恢息您情想意感成我或截户房所手才打承把投抗护报担拒拟择拿持指按损换据掉排接控推提支收改放"
    "效数整文料断新方无日早时明是显智更替最月有服期未本机杀权材束条来果查标栏样核案档检模次款止正此步死段每比民气"
    "求没法注浏清灯点然照物现理琴生用由甲电留疑登白的目直相看真眼着知码确示社票种秒租称程空立站符第等答签算管类系"
    "约线终经结给绝续编缺罪置者而胜能自至致色节药营行表被裁西要见规览角解言计认让议记许论讼设证评诉试话该语说请读"
    "谁调谈象责账货贷赁赔赛走起超跟身轮输辩边过运还这进违连述送选通造道那部都里重量金鉴钟钢钥链错长门问间阶陈限院"
    "除陪需面音页项须顾题驳验高魏"
)
"""As much of Chinese texts."""
_COMMONER: Final = 0.3
"""By how much the share of common letters has to be larger in a reading that is preferred to Korean."""
_DOUBTFUL: Final = 0.6
"""The share of common letters up to which a short text may be another than Korean."""
_EVERYDAY: Final = frozenset(
    "àáâãäåæçèéêëìíîïñòóôõöøùúûüýÿßÀÁÂÄÇÈÉÊËÍÎÑÓÔÖØÚÜ“”‘’–—…·•€₩£°§±×、。《》「」（），；：？！【】"
)
"""What texts have beside ASCII, Hangul and Han."""
_BROKEN: Final = re.compile("\ufffd+")
_ESCAPES: Final = ((b"\x1b$)C", "iso2022_kr"), (b"\x1b$B", "iso2022_jp"), (b"\x1b$@", "iso2022_jp"))
"""Marks of encodings of seven bits, whose bytes are ASCII too."""


class _Read(NamedTuple):
    text: str
    encoding: str
    sure: float


def read_text(content: bytes, encoding: str, media_type: str) -> FileText:
    """A file of text. Raises UnreadableFile."""
    text, name, sure = _named(content, encoding) if encoding else _found(content)
    if sure < SURE:
        raise refuse("encoding", name, line=_first_line(text))
    return FileText(text.removeprefix("\ufeff"), media_type, encoding=name, sure=round(sure, 3))


def _named(content: bytes, encoding: str) -> _Read:
    try:
        name = codecs.lookup(_WINDOWS.sub("cp", encoding)).name
    except (LookupError, ValueError):
        name = ""
    if name not in _NAMES:
        raise refuse("encoding", "unknown", line=encoding[:40])
    text = _decoded(content, name)
    if text is None or any(unicodedata.category(char) in ("Cn", "Cs") for char in set(text)):
        raise refuse("encoding", "wrong", line=name.replace("_", "-"))
    return _Read(text, name.replace("_", "-"), 1)


def _found(content: bytes) -> _Read:
    if marked := _marked(content):
        return marked
    if (text := _decoded(content, "utf-8")) is not None and "\0" not in text:
        other = None if _CONTROLS.search(text) is None else _utf_16_alone(content)
        return other or _Read(text, "utf-8", 1)
    if 0 not in content:
        _check_damage(content)
    found = _utf_16(content) if 0 in content else _of_two_bytes(content)
    if found is None and 0 in content:
        raise refuse("format", "binary")
    return found or _utf_16_alone(content) or _guess(content)


def _marked(content: bytes) -> _Read | None:
    for mark, name in _MARKS:
        if content.startswith(mark) and (text := _decoded(content, name)) is not None:
            return _Read(text, name, 1)
    for mark, name in _ESCAPES:
        if mark in content and (text := _decoded(content, name)) is not None:
            return _Read(text, name.replace("_", "-"), _GUESSED)
    return None


def _of_two_bytes(content: bytes) -> _Read | None:
    """CP949 or GB18030: the bytes of a text of the one are often a text of the other."""
    korean, chinese = _decoded(content, "cp949"), _decoded(content, "gb18030")
    if korean is not None and not _ARCHAIC.search(korean) and (share := _share(korean, ("HANGUL",))) >= _SHARE:
        common = _common(korean, _COMMON_HANGUL)
        if chinese is not None and common <= _DOUBTFUL and _is_rather_chinese(chinese, common):
            return _Read(chinese, "gb18030", _share(chinese, _HAN))
        return _Read(korean, "cp949", share if common else _GUESSED)
    if chinese is None or (share := _share(chinese, _HAN)) < _SHARE or not _is_chinese(chinese):
        return None
    if korean is not None and _is_korean(korean):
        return _Read(korean, "cp949", _GUESSED)  # Korean with many Han characters
    return _Read(chinese, "gb18030", share)


def _common(text: str, letters: frozenset[str]) -> float:
    """The share of common letters among those above ASCII."""
    found = [char for char in text if char > "\x7f" and char.isalpha()]
    return sum(char in letters for char in found) / len(found) if found else 0


def _is_rather_chinese(chinese: str, common: float) -> bool:
    """Whether a short text that could be Korean has more of the common letters if it is read as Chinese."""
    letters = (char for char in chinese if char > "\x7f" and char.isalpha())
    plain = all(char.encode("gb2312", "ignore") for char in letters)
    return plain and _is_text(chinese) and _common(chinese, _COMMON_HAN) > common + _COMMONER


def _check_damage(content: bytes) -> None:
    """A text of UTF-8 with some damaged bytes is in no other encoding: refuse it with the line that has them."""
    text = content.decode("utf-8", "replace")
    letters = [char for char in text if char > "\x7f" and char != "\ufffd"]
    everyday = sum(char in _EVERYDAY or char in _COMMON_HANGUL or char in _COMMON_HAN for char in letters)
    if len(letters) >= len(_BROKEN.findall(text)) and everyday >= _COMMON_SHARE * len(letters):
        line = next(line for line in text.splitlines() if "\ufffd" in line)
        raise refuse("encoding", "damaged", line=_first_line(line))


def _utf_16_alone(content: bytes) -> _Read | None:
    """UTF-16 without a mark and without a zero byte: one line of Hangul or Han alone."""
    for name in ("utf-16-le", "utf-16-be"):
        text = _decoded(content, name)
        if text and all(char > "\x7f" and _is_usual(char) for char in text):
            common = sum(char in _COMMON_HANGUL or char in _COMMON_HAN for char in text)
            if common >= _DOUBTFUL * len(text):
                return _Read(text, name, _GUESSED)
    return None


def _utf_16(content: bytes) -> _Read | None:
    """UTF-16 without a mark: in the order in which more of it is ASCII, Hangul or Han."""
    texts = ((name, _decoded(content, name)) for name in ("utf-16-le", "utf-16-be"))
    readable = [(name, text) for name, text in texts if text is not None and _is_text(text)]
    name, text = max(readable, key=lambda each: sum(map(_is_usual, each[1])), default=("", ""))
    return _Read(text, name, 1) if name else None


def _is_usual(char: str) -> bool:
    return char < "\x7f" or "\u3000" <= char <= "\u303f" or "\u4e00" <= char <= "\u9fff" or "가" <= char <= "힣"


def _is_chinese(text: str) -> bool:
    """Whether the Han characters of a text are everyday ones, of either script."""
    han = [char for char in text if "\u4e00" <= char <= "\u9fff"]
    return _is_text(text) and sum(map(_is_everyday, han)) >= _COMMON_SHARE * len(han)


@cache
def _is_everyday(char: str) -> bool:
    return bool(char.encode("gb2312", "ignore")) or int.from_bytes(char.encode("big5", "ignore")) in _BIG5_COMMON


def _is_korean(text: str) -> bool:
    """Whether a text of Hangul and Han characters has the syllables that every Korean text has."""
    hangul = [char for char in text if "가" <= char <= "힣"]
    particles = [char for char in hangul if char in _PARTICLES]
    return len(set(particles)) >= _PARTICLES_FEWEST and len(particles) >= _PARTICLE_SHARE * len(hangul)


def _is_text(text: str) -> bool:
    return not any(
        unicodedata.category(char) in ("Cn", "Co", "Cs") or (unicodedata.category(char) == "Cc" and char not in _SPACES)
        for char in set(text)
    )


def _share(text: str, scripts: tuple[str, ...]) -> float:
    """The share of some scripts among the letters above ASCII; 0 if most of these are inside Latin words.

    A German text is also one in GB18030: its umlauts, with the letters after them, are rare characters.
    """
    letters = [char for char in text if char > "\x7f" and char.isalpha()]
    if 2 * sum(map(len, _INSIDE.findall(text))) > len(letters):
        return 0
    counted = sum(unicodedata.name(char, "").startswith(scripts) for char in letters)
    return counted / len(letters) if letters else 0


def _guess(content: bytes) -> _Read:
    traditional = _decoded(content, "big5")
    if traditional is not None and _share(traditional, _HAN) >= _SHARE and _is_chinese(traditional):
        return _Read(traditional, "big5", _GUESSED)
    from charset_normalizer import from_bytes  # noqa: PLC0415 -- few files need it

    best = from_bytes(content).best()
    text = _decoded(content, best.encoding) if best else None
    if best is None or text is None or not _is_text(text):
        text = _decoded(content, "cp1252")
        if text is None or not _is_text(text):
            raise refuse("format", "binary")
        return _Read(text, "cp1252", _GUESSED)
    return _Read(text, best.encoding.replace("_", "-"), _GUESSED)


def _decoded(content: bytes, name: str) -> str | None:
    try:
        return content.decode(name)
    except (UnicodeError, ValueError):
        return None


def _first_line(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return "".join(char for char in next(filter(None, lines), "") if char.isprintable())[:_LINE_CHARS]
