"""What failures look like: the tables behind `failures`, as patterns for lines without colour codes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import re2

# Fragments of one case-insensitive pattern. Most stand for any word that holds them, so that `TypeError`,
# `ModuleNotFoundError` and `test_failed` count: a line too many costs a few bytes, a line too few breaks the promise.
_ENGLISH = (
    r"error|\berr\b|err!|\berr_[a-z]|\berrno\b|fail|fatal|panic|exception|abort|crash|denied|refused",
    r"timed?[ _-]?out|deadline|exceeded|took too long|traceback|stack ?trace|backtrace|call trace|caused by",
    r"segv|segfault|segmentation|core dumped|bus error|\bfault(?:ed|s|y)?\b|sanitizer|stack smashing|double free",
    r"use[ -]after[ -]free|data race|race detected|deadlock|livelock|lockup|memory leak|detected [a-z ]*leaks?\b",
    r"stack overflow|buffer overflow|heap overflow|(?:integer|arithmetic|numeric|stack|number) (?:over|under)flow",
    r"overflowed|out of (?:memory|range|bounds|disk|space|inodes)|\boom\b|oom[- ]?kill|cannot allocate|killed\b",
    r"terminated\b|terminate called|interrupt(?:ed)?\b|keyboardinterrupt|systemexit|stopiteration|throwable|\bthrow\b",
    r"signal[: ]+(?:\d|killed|abort)|\bsig(?:kill|term|abrt|bus|ill|fpe|int|hup|pipe|trap|sys|xcpu|xfsz)\b",
    r"uncaught|unhandled|unresolved|unsatisfied|unmet|undeclared|unterminated|unclosed|unbalanced|unparsable",
    r"undefined (?:reference|symbol|variable|method|local|function|name|index|offset|property|behaviou?r|identifier)",
    r"undefined (?:label|macro|constant|array|key|class|type|field|module)|is undefined|of undefined|undefined:",
    r"unexpected|unauthori[sz]ed|unauthenticated|unreachable|unavailable|unhealthy|unsupported|unrecogni[sz]ed",
    r"unsuccessful|unable to|unknown (?:option|command|flag|argument|host|type|name|column|database|directive|field)",
    r"unknown (?:method|module|key|property|identifier|package|target|revision|switch|parameter|function|user|tag)",
    r"could ?(?:no|n'|n’)t|can ?not\b|can(?:'|’)t\b|did(?: not|n't|n’t)\b",
    r"does(?: not|n't|n’t)\b|is(?: not|n't|n’t) an?\b",
    r"not found|not ok\b|not (?:an? )?(?:valid|permitted|allowed|supported|defined|implemented|recogni[sz]ed)",
    r"not (?:declared|installed|available|running|responding|reachable|executable|writable|readable|accessible|equal)",
    r"not (?:ready|successful|resolved?|match|loaded|mounted|connected|enough|authori[sz]ed|in scope|initiali[sz]ed)",
    r"no such|no rule to make|no space left|no route to|no module named|no matching|no suitable|no viable|no default",
    r"no (?:available|response|process|tests? (?:found|ran|executed|were)",
    r"input files|candidate|healthy|network|access)",
    r"no (?:valid|version|connection|known|overload|member|instance|configuration|permission|route|files? match)",
    r"none of the|nothing (?:provides|matched)|lost connection|connection (?:lost|closed|reset|broken)|disconnected",
    r"reset by peer|closed (?:by|unexpectedly)|broken\b|bad (?:gateway|request|file|address|credentials|substitution)",
    r"bad (?:interpreter|magic|option|value|type|argument|status|response|signature|certificate|owner|handshake|cpu)",
    r"internal server|service unavailable|too many",
    r"too (?:large|long|small|short|deep|old|few)|already (?:in use|exists)",
    r"address in use|rate limit|quota|throttl|forbidden|invalid|illegal|malformed|missing|mismatch|corrupt|reject",
    r"conflict|incompatible|inconsistent|violat|disallowed|prohibited|duplicate (?:key|entry|symbol|definition|class)",
    r"multiple definition|redefinition|redeclar|wrong\b|incorrect|non-fast-forward|unhealthy|backoff\b",
    r"evicted|notready|\bstalled\b|stuck\b|hung\b|blocked for more|oops\b|\*\*\* |syntax|unfinished|truncated input",
    r"assert|expected|but was|but got|\bdiffers?\b|first differing|not identical|mismatched|with expansion:",
    r"\bgot\b.*\bwant|\bwant\b.*\bgot|, want |recipe for target|stop\.[ \t\r]*$",
    r"[1-9][0-9]* problems?\b|permission|not permitted|read-only file system|i/o timeout|eof\b",
    r"host key verification|certificate (?:verify|has expired|is not)|self[- ]signed|handshake",
    r"exit(?:ed|s|ing)?(?:with|code|status|value|[:=(\"' _])*-?(?:[1-9]|0x0*[1-9a-f])",
    r"\bexit(?:ed|s)? (?:prematurely|unexpectedly|abnormally)|non-?zero|return(?:ed)?[ _-]?code[\"']?[:= ]+-?[1-9]",
    r"\brc[\"']?[:= ]+-?[1-9]|returned?[:= ]+-?[1-9][0-9]* exit|returned (?:-?[1-9][0-9]*|1)\b|\bcode elifecycle",
    r"http/[0-9.]+\"? [45][0-9][0-9]\b|\bstatus(?:[ _]?code)?[\"']?[ :=]+[45][0-9][0-9]\b",
    r"\b(?:400 bad|401 un|402 pay|403 for|404 not|405 met|408 req|409 con|410 gon",
    r"413 |415 uns|422 unp|429 too|500 int|501 not|502 bad|503 ser|504 gat)",
    r"\"level\" ?: ?(?:[56]0)\b|\blevel[=: ]+[\"']?(?:crit|alert|emerg|severe)|unmarshal|unpickl|ora-[0-9]{4,5}",
    r"sqlstate|badarg|badmatch|function_clause|noproc\b|undefined is not|sorry, |whoops|uh[- ]oh|giving up|gave up",
    r"notfound|cancell?ed|unresponsive",
    r"(?:disk|queue|buffer|table|storage|volume|memory|partition|device|pool) (?:is )?full\b",
    r"no matches|access violation|not be (?:found|opened|read|written|resolved|loaded|parsed|reached)",
    r"no longer (?:exists|available|supported)|dropped (?:packet|connection|message)|lost (?:\d|packet|data)|panick",
    r"is a directory|not a directory|unbound variable|unknown authority|^rspec \./",
    r"name or service not known|failure in name resolution|no address associated|password is required",
    r"no installation candidate|nodes are available|insufficient (?:cpu|memory|ephemeral)|not in gzip format",
    r"(?:declared|imported|defined) and not used|is not in std\b|attempt to (?:index|call|subtract|add|multiply)",
    r"on a `none` value|uninitiali[sz]ed constant|before its declaration|is not assignable|execution halted",
    r"pure virtual method|not specified; omitting|target is busy|already mounted|database is locked",
    r"dependency problems|[1-9][0-9]*% packet loss|definitely lost|\bloss: nan\b|high severity|\bhttp [45][0-9][0-9]\b",
    "没有那个文件|そのようなファイル|그런 파일이나",
    r"^\S+\.(?:go|rs|cc?|cpp|cxx|hh?|hpp|java|kt|swift|zig|hs|mli?|cs|fs|scala):[0-9]+:[0-9]+: \S",
    r"^[a-z_.]*warning: | at \S+ line [0-9]+\.[ \t\r]*$",
)
# What the C library says of errors of the system; behind a colon, or alone.
_SYSTEM = (
    "no child processes|block device required|device or resource busy|file exists|inappropriate ioctl for device",
    "text file busy|numerical argument out of domain|no locks available|directory not empty|identifier removed",
    "no message of desired type|level [23] (?:not synchronized|halted|reset)|protocol driver not attached",
    "no csi structure available|exchange full|no anode|bad font file format|device not a stream|no data available",
    "timer expired|out of streams resources|machine is not on the network|object is remote|link has been severed",
    "multihop attempted|bad message|name not unique on network|file descriptor in bad state|remote address changed",
    "socket operation on non-socket|destination address required|network is down|no buffer space available",
    "transport endpoint is already connected|host is down|operation already in progress|stale (?:nfs )?file handle",
    "structure needs cleaning|not a xenix named type file|no xenix semaphores available|is a named type file",
    "no medium found|key has expired|key has been revoked|owner died|state not recoverable",
    "operation not possible due to rf-kill|hangup|alarm clock|quit|bad system call|trace/breakpoint trap",
    "virtual timer expired|profiling timer expired|invalid cross-device link|cross-device link",
)
_SYSTEM_TEXT = rf"(?:: |^|[0-9] )(?:{'|'.join(_SYSTEM)})(?: \(core dumped\))?[.!]?[ \t\r]*$"
# Upper or mixed case only: the same words in lower case are everyday words or names.
_CASED = (
    r"\b(?:CRITICAL|CRIT|SEVERE|EMERG(?:ENCY)?|ALERT|FAULT|BUG|FTL|KO)\b|^[EF][0-9]{4} [0-9]|^[EF]/[A-Za-z]",
    r"\b[EF]/[A-Z][A-Za-z]+|\[[EFC]\]|\bE(?:ACCES|PERM|NOENT|EXIST|NOTDIR|ISDIR|MFILE|NFILE|NOSPC|NOTEMPTY|ROFS)\b",
    r"\bE(?:ADDRINUSE|ADDRNOTAVAIL|CONNREFUSED|CONNRESET|CONNABORTED|HOSTUNREACH|NETUNREACH|PIPE|TIMEDOUT|IO|PROTO)\b",
    r"\bE(?:AGAIN|BADF|BUSY|DOM|FAULT|FBIG|INTR|INVAL|LOOP|NOMEM|NOSYS|NXIO|RANGE|SRCH|TXTBSY|XDEV|NOTSUP|DQUOT)\b",
    r"\bE(?:RESOLVE|LIFECYCLE|BADENGINE|BADPLATFORM|INTEGRITY|AI_AGAIN|NOTFOUND|OTP|404|NEEDAUTH|PUBLISHCONFLICT)\b",
    r"\bE[0-9]{4,5}\b|CrashLoopBackOff|ImagePullBackOff|NotReady|Evicted",
)
_SYMBOLS = "✗|✘|✖|✕|❌|❎|⨯|⛔|🔴|🚨|💥|☠|🛑"
# Words of other languages, also with a capital first letter where the letter is not ASCII.
_OTHER_LANGUAGES = (
    "fehler|fehlgeschlagen|fehlschl|gescheitert|ungültig|nicht gefunden",
    "verweigert|abgebrochen|abgelehnt|zeitüberschreitung|konnte nicht|kann nicht|fehlt\\b|fehlende",
    "erreur|échec|Échec|ÉCHEC|échou|Échou|introuvable|refusé|impossible",
    "expiré|dépassé|n'existe pas|aucun fichier|interdit|invalide",
    r"fallo\b|fall(?:o|ó)\b|falla\b|fallid|denegad|no encontrad",
    r"no se pudo|no se puede|no se encontr|no existe|excepci|rechazad",
    r"inválid|errore|fallit|impossibile|negato|non trovat|eccezion|rifiutat|scadut|errat[oa]\b|\berros?\b|falha|falhou",
    "negad[oa]|não encontrad|não foi possível|exceç|recusad|expirou|falló",
    "нет доступа|Нет доступа|нет такого|Нет такого|невозможно|Невозможно|отказ|Отказ|прерван|Прерван|недоступ|Недоступ",
    "ошибк|Ошибк|ОШИБК|сбой|Сбой|не удалось|Не удалось|отказано|Отказано|исключени|Исключени|не найден|Не найден",
    "превышен|Превышен|недопустим|Недопустим|помилк|Помилк|не вдалося|Не вдалося|грешк|Грешк|неуспешн",
    "错误|錯誤|失败|失敗|异常|異常|拒绝|拒絕|超时|逾時|超時|崩溃|崩潰|无法|無法|未找到",
    "找不到|不存在|致命|出错|出錯|无效|無效|报错|权限|權限|不允许|不允許|中断|中斷",
    "エラー|例外|拒否|タイムアウト|見つかりません|できません|できませんでした",
    "存在しません|不正な|無効な|クラッシュ|権限|許可されて|中断",
    "오류|실패|에러|예외|거부|시간 초과|찾을 수 없|할 수 없|잘못된|존재하지|권한|허용되지",
    r"\bfout(?:en)?\b|mislukt|geweigerd|niet gevonden|kan niet|ongeldig|verlopen",
    "błąd|Błąd|BŁĄD|błęd|Błęd|niepowodzeni|nie powiodł|Nie powiodł|nie znalezion",
    "Nie znalezion|odmow|Odmow|brak dostępu|Brak dostępu|brak pliku|wyjątek|Wyjątek",
    r"\bchyb[ay]\b|selhal|nenalezen|zamítnut|výjimk|\bfel\b|misslyckad|hittades inte|nekad|\bfejl\b|\bfeil\b|mislykke",
    r"virhe|epäonnistu|\bhata(?:sı)?\b|başarısız|Başarısız|bulunamadı|reddedildi|lỗi|Lỗi|thất bại|không tìm thấy",
    r"\bgagal\b|kesalahan|tidak ditemukan|ditolak|\bhib(?:a|á)\b|sikertelen|eroare|eșec|eşec|eșuat|nu a fost găsit",
    "σφάλμα|Σφάλμα|αποτυχία|Αποτυχία|απέτυχε|خطأ|فشل|שגיאה|נכשל|त्रुटि|विफल|ผิดพลาด|ล้มเหลว|خطا|ناموفق",
)

# Lines that count by their shape: stack frames, assertion blocks, carets of compilers, headings of failed tests.
_SHAPES = (
    r"^[ \t]+at[ \t]+(?:async |new |static )?[^ \t\n(]+(?:[ \t]*\(|[ \t]+in |[ \t]+\[|[ \t\r]*$)",
    r"^[ \t]*at [^\n]*:[0-9]+",
    r"\bFile \"[^\"\n]*\", line [0-9]|^[ \t]*\[Previous line repeated|^[ \t]*\.\.\. [0-9]+ (?:more|common|further)",
    r"^[ \t]*goroutine [0-9]+ \[|^[ \t]*created by [^ \t\n]|^[ \t]+[^ \t\n]+\.go:[0-9]+(?::| \+0x|\r?$)",
    r"^E[ \t]{2}|^>[ \t]{2,}[^ \t\n]|^[ \t]*(?:●|×)[ \t]|^[ \t]*❯ [^ \t\n]+:[0-9]+:[0-9]|^[ \t]*→ ",
    r"^[ \t]*#[0-9]+[ \t]+(?:0x|/|\{main\}|[a-z_][^ \t\n]* ?\(|[^ \t\n]+ at )|^[ \t]*# [^ \t\n]+:[0-9]+:in",
    r"^[ \t]*(?:from )?[^ \t\n]+:[0-9]+:in [`']|^[ \t]+[0-9]+:[ \t]+(?:0x[0-9a-f]+ - )?[^ \t\n]+::",
    r"^[ \t]*-->[ \t]+[^ \t\n]+:[0-9]|^[ \t]*(?:In file included from|from) [^ \t\n]+:[0-9]+[,:]",
    r"^[ \t]*(?:[-+]{1,3} ?)?(?:expected|received|actual|got|want(?:ed)?",
    r"left|right|found|but was)[ \t]*(?:\([^)\n]*\))?[ \t]*[:=<]",
    r"^[ \t]*[-+]{1,3} ?(?:expected|received|actual)\b|^_{3,} [^\n]* _{3,}\r?$|^[ \t]+[0-9]+\) [^ \t\n]",
    r"^[^ \t\n]+\.py:[0-9]+:(?: in [^ \t\n]+)?[ \t\r]*$|^[ \t]*(?:Value of:|Which is:|To be equal to:)",
    r"^(?:[ \t|]+[\^~]|\^)[ \t^~|+-]*\r?$|^[ \t]+\([^()\n]{1,80}\) [^ \t\n]+\.exs?:[0-9]+:",
    r"^[ \t]+(?:have|want) \(",
    r"^[ \t]*(?:expr|stacktrace|arguments):[ \t]|^[ \t]*[0-9]+[ \t]+failing\b",
)

_WORDS_TEXT = "|".join((*_ENGLISH, _SYSTEM_TEXT, "(?-i:" + "|".join(_CASED) + ")", _SYMBOLS, *_OTHER_LANGUAGES))
_SHAPES_TEXT = "|".join(_SHAPES)


def compiled(pattern: str, *, captures: bool = False) -> re2._Regexp:
    """A case-insensitive pattern over UTF-8 bytes, each byte a character: the fastest way to search.

    A class of characters beyond ASCII would be a class of bytes, which only finds more candidates. Groups are none
    unless they are asked for.
    """
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.case_sensitive = False
    options.max_mem = 64 << 20
    options.never_capture = not captures
    return re2.compile(("(?m)" + pattern).encode(), options)


def _set(*patterns: str) -> re2.Set:
    """Several patterns of that kind as one; a match gives the numbers of those that match."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.case_sensitive = False
    options.max_mem = 64 << 20
    made = re2.Set.SearchSet(options)
    for pattern in patterns:
        made.Add(("(?m)" + pattern).encode())
    made.Compile()
    return made


def quick_search(pattern: re2._Regexp) -> Callable[[bytes, int, int], list[tuple[int, int]]]:
    """The search of a pattern without the layers of its module: bytes, start, end -> spans, (-1, -1) where it fails.

    Where lines are searched one by one, the layers cost several times the search.
    """
    search: Callable[[bytes, int, int], list[tuple[int, int]]] = partial(pattern._regexp.Match, re2._Anchor.UNANCHORED)
    return search


def sub_found(
    pattern: re.Pattern[str],
    search: Callable[[bytes, int, int], list[tuple[int, int]]],
    new: Callable[[re.Match[str]], str],
    line: str,
    data: bytes | None = None,
) -> str:
    """`pattern.sub` where `search` finds quickly where a match can start, or the "_" before it.

    `search` sees a byte for each character, "?" beyond Latin-1, and may find more starts than there are; `data` are
    these bytes, where they are known.
    """
    if data is None:
        data = line.encode("latin-1", "replace")
    size = len(data)
    kept: list[str] = []
    done = at = 0
    while at < size:
        start = search(data, at, size)[0][0]
        if start < 0:
            break
        if line[start] == "_":
            start += 1
        found = pattern.match(line, start)
        if found is None:
            at = start + 1
        else:
            kept += (line[done:start], new(found))
            done = at = found.end()
    if not kept:
        return line
    kept.append(line[done:])
    return "".join(kept)


CANDIDATE = compiled(_WORDS_TEXT + "|" + _SHAPES_TEXT)
"""Finds every line that could be a failure, and few others; linear, on UTF-8 bytes or text."""
search_candidate = quick_search(CANDIDATE)
search_words = quick_search(compiled(_WORDS_TEXT))

_STEMS = (
    "err|fail|exception|fatal|panic|abort|crash|assert|time[_-]?out|invalid|missing|expect|conflict|reject|throw|denied"
    "|unhandled|uncaught|killed|oom|forbidden|not[_-]?found|corrupt|mismatch|broken|terminated|deadlock|deadline|fault"
    "|sanitizer|permission|syntax|duplicate|overflow|unsupported|unknown|interrupt|violat|illegal|malformed|unavailable"
    "|unreachable|backoff|quota|throttl|wrong|undefined|unauthori|traceback|backtrace|quot|incompatible|refused|signal"
)
STEM = re.compile(_STEMS, re.IGNORECASE)
"""A failure's word inside a file name."""
_SUFFIXES = (
    "astro avif bash bat bin bmp c cc cfg cjs class clj cmake conf cpp cs css csv cts cxx d dart db doc docx ejs "
    "elm env erb erl ex exs fish fs gif go gradle graphql groovy h hbs hcl hpp hrl hs htm html hxx ico ini ipynb "
    "j2 jar java jinja jpeg jpg js json json5 jsonc jsonl jsx kt kts less lock log lua m md mdx mjs mk ml mli mm "
    "mts nim o obj org out patch pdf php pl plist png po properties proto ps1 psd1 psm1 py pyc pyi pyx r rake rb "
    "rego rs rst sass scala scss sh snap so sol spec sql styl svelte svg swift tar tcl tf toml ts tsv tsx ttf txt "
    "vb vim vue wasm webp woff woff2 xhtml xls xlsx xml xsd xsl yaml yml zig zip zsh "
)
SUFFIXES = frozenset(_SUFFIXES.split())
"""What makes a word a file name."""
_WORD_END = r"\s\"'`<>()\[\]{},;:=|"
# Starts only where a word does: a word without a slash or a dot is read once.
PATH_TOKEN = re.compile(rf"(?<![^{_WORD_END}])[^{_WORD_END}/\\.]*+[/\\.][^{_WORD_END}]*+")
"""A word with a slash or a dot in it."""
_NOT_WORD_END = "[^" + _WORD_END.replace(r"\s", r"\t-\r\x1c- ") + "]*"
search_stem_word = quick_search(compiled(rf"{_NOT_WORD_END}(?:{_STEMS}){_NOT_WORD_END}"))
"""Finds in an ASCII line the next word with a failure's word in it, the whole of it."""

_KINDS = (
    r"(?:errors?|failures?|failed|failing|fails?|exceptions?|fatals?|crash(?:es|ed)?|time-?outs?|timed out|problems?"
    r"|conflicts?|broken|errored|aborted|rejected|denied|unexpected|missing|invalid|unreachable|interrupted|killed"
    r"|terminated|assertions?|mismatch(?:es)?|corrupt(?:ed)?|leaks?|violations?|panics?|fehler|fehlschläge|erreurs?"
    r"|échecs?|errores|fallos?|errori|errore|erros?|falhas?|fouten|fout|błędów|ошибок|ошибки|сбоев)"
)
_ADJECTIVES = (
    r"(?:(?:known|new|other|more|further|tests?|type|syntax"
    r"|lint(?:ing)?|eslint|compile|compiler|compilation|build|fatal"
    r"|critical|serious|unexpected|runtime|validation|remaining|significant|obvious|console|parse|parsing|unhandled"
    r"|major|minor|formatting|style|typescript|merge|fixable|auto-?fixable|failed|failing|suites?|of|the) +){0,2}"
)
_ZERO_BEFORE = (
    r"(^\s*|[,;(\[|{>]\s*|(?:[:=*-]|•|·|–|—)\s+"
    r"|\b(?:found|with|has|had|have|and|or|generated|reported|got|are|were|contains?"
    r"|total|showing|detected|produced|completed|finished|succeeded|passed|passing|skipped|ignored|xfailed|warnings?"
    r"|hints?|infos?|notes?|tests|measured|mit|avec|con|com|und|et) +)"
)
_AFTER_NONE = (
    r"(?=\s*(?:$|[.,;:!?)\]}\"'|/—–-]"
    r"|(?:found|detected|reported|occurred|in|were|was|are|is|remain\w*|so far|on|to report"
    r"|or|and|at all|with|during|after|while|for|gefunden|détectée?s?|trouvée?s?|encontrad[oa]s|rilevat[oi]|tests?\b"
    r"|обнаружено|найдено|gevonden)\b))"
)
_FLAGS = re.IGNORECASE
PASSED = re.compile(
    r"^\s*(?:✓|✔|√|☑|✅)\s|^\s*test\b.* \.\.\. (?:ok|ignored)\b"
    r"|^\s*--- (?:PASS|SKIP): |^\s*=== (?:RUN|PAUSE|CONT|NAME)\s"
    r"|^\s*ok [0-9]+(?:\s|$)|^ok[ \t]+\S+(?:[ \t]+(?:[0-9.]+s|\(cached\)|\[no ).*)?\s*$|^\?\s+\S+\s+\[no test files\]"
    r"|^\s*(?:PASS|PASSED):? +\S+(?: \([0-9.]+ ?m?s\))?\s*$|^[^\s:]*+::.* PASSED(?:\s+\[\s*[0-9]+%\])?\s*$"
    r"|^\[\s+(?:OK|RUN|PASSED)\s*\]"
)
"""What passed, whatever its name; unless the line counts failures. From the start of a line."""
LISTED = re.compile(
    r"^[-dlbcps](?:[r-][w-][xsStT-]){3}[.+@]?\s+[0-9]+\s|^\s+(?:modified|new file|renamed|deleted|copied|typechange):\s"
    r"|^(?:[MADRCT?!][MADRCT?! ]| [MADRCT?!]) \S*[./]\S*(?: -> \S+)?\s*$"
    r"|^ (?:create|delete) mode [0-9]+ \S|^ \S+ +\|\s+[0-9]+ [+-]*\s*$"
    r"|^\s*(?:Compiling|Downloaded|Fresh|Checking|Locking|Adding"
    r"|Updating|Removing) [\w-]+ v[0-9]\S*(?: \([^()]*\))?\s*$"
    r"|^(?:Collecting|Requirement already satisfied:) \S+(?: in \S+)?(?: \(\S+\))?\s*$",
)
"""Listings of files, of a work tree, of a build's packages: names, no reports."""
NONE_COUNTED = compiled(
    _ZERO_BEFORE + r"0(?: ?(?:/|of|out of) ?[0-9]+)? +" + _ADJECTIVES + _KINDS + r"\b", captures=True
)
"""`0 errors`, `3 passed, 0 failed`; group 1 stands before it and stays."""

LINE_HINT, NAME_HINT, ZERO_HINT, NO_HINT, VALUE_HINT, FLAG_HINT, CJK_HINT, SHAPE_HINT, COUNTED_HINT = range(9)
_VALUED = _KINDS + r"(?:_?count|_total|_msg|_message|_code)?[\"']?"
BENIGN_PHRASES = (
    (
        NO_HINT,
        re.compile(
            r"\b(?:no|zero|without(?: any)?|free of|keine?r?|ohne|sans"
            r"|aucune?|sin|nessun[ao]?|senza|sem|nenhum|geen|zonder"
            r"|brak|inga|ingen|нет|без) +" + _ADJECTIVES + _KINDS + _AFTER_NONE,
            _FLAGS,
        ),
    ),
    (
        VALUE_HINT,
        re.compile(
            _VALUED + r"\s*[:=]\s*"
            r"(?:(?:0(?:\.0+)?)(?=\s*(?:$|[,;)\]}|\"']|\.(?![0-9])|\s[\w -]{1,24}[:=]))"
            r"|(?:null|none|nil|false|undefined|\[\s*\]|\{\s*\}|\"\"|'')(?=\s*(?:$|[,;)\]}|])))",
            _FLAGS,
        ),
    ),
    (
        FLAG_HINT,
        re.compile(
            r"(?<![\w-])--[a-z][\w-]*|(?<!\S)-W(?:no-)?error(?:=[\w-]+)?|\berror[- ]free\b"
            r"|\"[\w.-]{0,40}time_?out[\w.-]{0,40}\"\s*:\s*[0-9]+",
            _FLAGS,
        ),
    ),
    (
        CJK_HINT,
        re.compile(
            "(?<![0-9.,])0 ?(?:个|個|つの|件の?|개의?)? ?(?:错误|錯誤|失败|失敗|异常|異常|エラー|오류|실패)"
            "|(?:没有|沒有|无|無|未发现|未發現|零)(?:任何)?(?:错误|錯誤|失败|失敗|异常|異常)"
            "|(?:エラー|失敗|例外|異常)(?:は|が)?(?:なし|ありません(?:でした)?|ない)"
            "|(?:오류|실패|에러)(?:가|이|는)? ?없"
            r"|(?:错误|錯誤|失败|失敗|エラー|오류|실패) ?[:：=] ?0(?![\w.])"
        ),
    ),
)
"""What else says that nothing failed: the hint for it, and what is then taken out of the text."""

search_valued = quick_search(compiled(_VALUED + r"[\x00- ]*[:=]"))
"""Finds in an ASCII line where the phrase for VALUE_HINT can start, much faster than the phrase."""

HINTS = _set(
    # LINE_HINT: how lines start or end that PASSED and LISTED look at, and the line for elided ones.
    r"^[ \t]*(?:✓|✔|√|☑|✅|test\b|--- |=== |ok\b|\?|pass|\[ |modified|new file|renamed|deleted|copied|typechange)"
    r"|^[ \t]*(?:compiling|downloaded|fresh|checking|locking|adding|updating|removing|collecting|requirement)"
    r"|passed[ \t]|passed\r?$|^[-dlbcps][r-][w-]|^(?:[MADRCT?!][MADRCT?! ]| [MADRCT?!]) |^ (?:create|delete) mode"
    r"|\|[ \t]+[0-9]|lines? elided\]",
    # NAME_HINT
    rf"[/\\][^ \t\n]*(?:{_STEMS})|(?:{_STEMS})[^ \t\n]*(?:[/\\]|\.(?:{'|'.join(_SUFFIXES.split())})(?:[^a-z0-9]|$))",
    # ZERO_HINT
    r"\b0\b",
    # NO_HINT
    r"\b(?:no|zero|without|free|keine?r?|ohne|sans|aucune?|sin"
    r"|nessun[ao]?|senza|sem|nenhum|geen|zonder|brak|ing[ae]n?)\b"
    r"|без|нет",
    # VALUE_HINT
    r"[:=][ \t]*(?:0(?:[^0-9a-z]|$)|0\.0|null|none|nil|false|undefined|\[|\{|\"\"|'')",
    # FLAG_HINT
    r"--[a-z]|-werror|-wno-error|error[- ]free|time_?out[a-z_.-]*\"",
    # CJK_HINT
    r"0 ?(?:个|個|つの|件|개|错|錯|失|异|異|エ|오|실)|没有|沒有|无|無|未发现|未發現|零"
    r"|なし|ありません|ない|없|(?:误|誤|败|敗|ー|류|패) ?(?:[:=]|：) ?0",
    # SHAPE_HINT
    _SHAPES_TEXT,
    # COUNTED_HINT: a number of failures that is not zero.
    r"(?:^|[^0-9a-z:.])[1-9][0-9]*\s+(?:[a-z]+\s+)?(?:errors?\b|fail)",
)
"""One pass over a line for all that decides about it; a candidate without any of the first seven is a failure."""
match_hints: Callable[[bytes], list[int]] = HINTS._set.Match
"""The numbers of the hints in a line, in any order."""

VOLATILE_HINT = compiled(
    r"[0-9]:[0-5][0-9]|[0-9]{4}[-/.][0-9]{2}|[0-9] ?(?:[nmu]?s|µs|μs|mi|nano|micro|sec|h)|[0-9]m |[0-9]m[0-9]|[0-9] ?%"
    r"|[0-9a-f]{8}|(?:attempt|retry|retries|try|tries|no|number|count|left|remaining|backoff)[^a-z0-9]{1,6}[0-9]"
    r"|[0-9](?:st|nd|rd|th)? (?:more |failed |unsuccessful )?(?:attempt|retr|tr(?:y|ies)|backoff)"
    r"|\[[0-9]{3}|\[[ 0-9]+\.|(?:pid|process id|thread id|tid)[ :=#]+[0-9]|[0-9]/[a-z]|retr[a-z_]*[^a-z0-9]{1,6}[0-9]"
)
"""Without one of these nothing in a line changes from one occurrence to the next."""
COMPARES_HINT = compiled(
    r"\b(?:expect|got\b|want|received\b|actual\b|should\b|instead\b|but was|must be|to be|assert)|[!=]=|(?:left|right):"
)
"""Without one of these a line does not say what was expected and what came instead."""
