"""Words, code, prose and names of generated sessions; the same seed gives the same bytes on every machine.

Code is put together from short blocks with other names filled in, so that it packs about as well as real code does:
neither like noise nor like one file over and over.
"""

from __future__ import annotations

import random

_NOUNS = """
basin bearing berth buoy cable cargo channel chart compass convoy crane current deck depth dock draft ferry flag fleet
gauge harbour hatch hull keel ladder lantern ledger level lighthouse lock mast mooring net oar pier pilot port pump
quay radar rope route rudder sail shoal signal siren sounding stern storm strait survey tank tide tow trawler vessel
voyage watch wave wharf winch wind wreck yard anchor ballast barge beacon bilge boom bridge bulk
"""
WORDS = tuple(_NOUNS.split())
_VERBS = """
add align attach await build cache check clear close collect count decode drop encode fetch fill find flush group join
keep list load lock map mark match merge move open order pack parse pick plan poll post read record reduce release
render reset resolve route save scan send set shift sort split start stop store sum sync take trim turn unlock update
wait walk weigh write
"""
VERBS = tuple(_VERBS.split())
TYPES = ("int", "str", "float", "bytes", "Path", "list[str]", "dict[str, int]", "bool", "Berth | None", "Iterator[int]")
FAR = (
    "潮位を記録してから出港する予定です。",
    "港口的水位比昨天高了三十厘米，需要重新计算。",
    "Глубина у причала измерена дважды и записана в журнал.",
    "η στάθμη της θάλασσας μετρήθηκε ξανά το πρωί",
    "파도가 높아서 출항을 미루기로 했다.",
    "Größe und Höhe prüfen – „später“ genügt nicht",
    "la marée a été relevée à l’échelle du bassin",
    "⚓ 🚢 готово ✓",
)
BLOCKS = 9_000
_LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


class Stock:
    """What the texts of a session are made of; every choice comes from one seeded source."""

    def __init__(self, seed: int, *, nonascii: bool = False) -> None:
        self.chance = random.Random(seed)
        self.nonascii = nonascii
        self._blocks: list[str] = []

    def word(self) -> str:
        """A noun."""
        return WORDS[int(self.chance.random() * len(WORDS))]

    def verb(self) -> str:
        """A verb."""
        return VERBS[int(self.chance.random() * len(VERBS))]

    def number(self, below: int) -> int:
        """A whole number from 0 up."""
        return int(self.chance.random() * below)

    def chars(self, average: int) -> int:
        """A length as lengths are: most are shorter than the average, few much longer."""
        return max(60, min(int(self.chance.lognormvariate(0.0, 0.8) * average * 0.73), average * 6))

    def hexes(self, digits: int) -> str:
        """Hexadecimal digits."""
        return f"{self.chance.getrandbits(4 * digits):0{digits}x}"

    def uuid(self) -> str:
        """An id of a record or a session."""
        digits = self.hexes(32)
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def tag(self, prefix: str) -> str:
        """An id as services hand them out."""
        return prefix + "".join(self.chance.choices(_LETTERS, k=22))

    def path(self) -> str:
        """A source file of the project that the sessions work on."""
        return f"/opt/harbourmaster/{self.word()}/{self.verb()}_{self.word()}.py"

    def url(self) -> str:
        """A web address, sometimes with a long query."""
        query = f"?session={self.hexes(96)}" if self.chance.random() < 0.4 else ""
        return f"https://{self.word()}.example.org/{self.word()}/{self.verb()}-{self.word()}{query}"

    def far(self, line: str) -> str:
        """The line; if the text is not to be ASCII only, now and then with words of other scripts behind it."""
        if not self.nonascii or self.chance.random() > 0.35:
            return line
        return f"{line}  {FAR[self.number(len(FAR))]}"

    def sentence(self) -> str:
        """A sentence without much sense."""
        if self.nonascii and self.chance.random() < 0.4:
            return FAR[self.number(len(FAR))]
        words = self.chance.choices(WORDS, k=4 + self.number(6))
        return f"The {' '.join(words)} would {self.verb()} the {self.word()}."

    def prose(self, chars: int) -> str:
        """Sentences of about so many characters."""
        sentences = []
        length = 0
        while length < chars:
            sentences.append(self.sentence())
            length += len(sentences[-1]) + 1
        return " ".join(sentences)

    def code(self, chars: int) -> str:
        """A Python module, or a piece of one, of about so many characters."""
        if not self._blocks:
            self._blocks = [self._block() for _ in range(BLOCKS)]
        blocks = []
        length = 0
        while length < chars:
            block = self._blocks[self.number(BLOCKS)]
            if "@" in block:
                block = block.replace("@", self.word()).replace("$", self.verb(), 2)
            if self.nonascii:
                block = self.far(f"    # {self.sentence()}\n{block}")
            blocks.append(block)
            length += len(block) + 1
        # Pieces end where they end: inputs and reads are cut anywhere in a file.
        return "\n".join(blocks)[: max(chars, 1)]

    def _block(self) -> str:
        """A few lines of code; `@` and `$` wait for a noun and a verb."""
        a, b, c = self.word(), self.word(), self.word()
        do, then = self.verb(), self.verb()
        kind = self.number(8)
        if kind == 0:
            types = self.chance.choices(TYPES, k=3)
            return (
                f"\ndef {do}_{a}(@: {types[0]}, {b}: {types[1]}) -> {types[2]}:\n"
                f'    """{do.capitalize()} the {a} before the {b} can $ the {c}."""\n'
                f"    {c} = @.{then}({b}, limit={self.number(900)})"
            )
        if kind == 1:
            return f"    if {a} is None or {b}.{c} > {self.number(500)}:\n        return {then}_{c}(@)"
        if kind == 2:
            return (
                f"    for {a} in sorted(self.{b}_{c}, key=lambda @: @.{do}):\n"
                f"        self.{then}({a}, {b}=self._{a}[{self.number(40)}])"
            )
        if kind == 3:
            return f"    # {self.sentence()}\n    {a}_{b} = $_{c}(self.{do}_{b}, {self.number(100)}.{self.number(100)})"
        if kind == 4:
            return f'    log.info("%s: {do} {a}, then {then} {b}", @, {c}.name)\n    await self.{b}.$({a})'
        if kind == 5:
            return (
                f"    try:\n        {a} = {do}_{b}(@)\n    except {c.capitalize()}Missing as missing:\n"
                f'        raise {b.capitalize()}Late(f"{{@}}: no {a} to {then}") from missing'
            )
        if kind == 6:
            return (
                f'{a.upper()}_{b.upper()} = "{self.hexes(12 + self.number(20))}"\n'
                f"{c.upper()} = ({self.number(9999)}, {self.number(9999)})"
            )
        return f"\n    @property\n    def {a}_{b}(self) -> {self.chance.choice(TYPES)}:\n        return self._$_{c}"
