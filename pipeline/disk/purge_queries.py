"""Questions of `forget`: what is a session's alone, and what do others share with it?"""

from __future__ import annotations

from pipeline.disk.queries import Queries

_OUT_PATHS = (
    "SELECT session, out_path FROM ("
    "SELECT s.id AS session, CAST(r.name || '/' || s.out_rel AS BLOB) AS out_path FROM session s "
    "JOIN root r ON r.id = s.root UNION SELECT session, out_path FROM former_path)"
)


class PurgeQueries(Queries):
    """Reads that only a purge needs; some read whole tables."""

    def out_paths(self, session: int) -> list[bytes]:
        """Where a session's output lies below the output folder, and where it lay before its source was moved."""
        rows = self._all(f"{_OUT_PATHS} WHERE session = ?", (session,))
        return [out_path for _, out_path in rows]

    def sessions_at(self, out_path: bytes) -> list[int]:
        """Sessions whose output lies there, or lay there once; reads the whole session table."""
        return [session for session, _ in self._all(f"{_OUT_PATHS} WHERE out_path = ?", (out_path,))]

    def has_record(self, session: int, generation: int, ordinal: int, src_len: int, hash8: int) -> bool:
        """True if a session has this record in this generation."""
        rows = self._all(
            "SELECT src_len, hash8 FROM record WHERE session = ? AND generation = ? AND ordinal = ?",
            (session, generation, ordinal),
        )
        return bool(rows == [(src_len, hash8)])

    def unreferenced_values(self) -> list[int]:
        """Ids of originals that no site refers to; reads the whole site table."""
        return [id for (id,) in self._all("SELECT id FROM value WHERE id NOT IN (SELECT value FROM site)")]

    def unshared_values(self, session: int) -> list[int]:
        """Ids of originals that only this session refers to; reads the whole site table."""
        rows = self._all(
            "SELECT DISTINCT value FROM site WHERE session = ? AND value > 0 "
            "EXCEPT SELECT value FROM site WHERE session <> ?",
            (session, session),
        )
        return [id for (id,) in rows]
